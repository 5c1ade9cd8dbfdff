package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/**
 * What other applications hold of a machine.
 *
 * @param cpus all CPUs that are not to be used
 * @param leased those of them whose applications say what memory they take; of the others a node's memory
 *               counts in proportion
 * @param leasedBytes that memory, by node
 * @param heldBytes memory that processes of others hold of each node, beyond what every plan leaves to them
 * @param ownBytes what of it counts against the limit of this process's cgroup, too
 */
final case class Occupied(
    cpus: IdSet,
    leased: IdSet = IdSet.empty,
    leasedBytes: Map[Int, Long] = Map.empty,
    ownBytes: Long = 0L,
    heldBytes: Map[Int, Long] = Map.empty
) {
  private[plan] def heldMb(node: Int): Long = heldBytes.getOrElse(node, 0L) >> 20
  private[plan] def leasedMb(node: Int): Long =
    (leasedBytes.getOrElse(node, 0L) + (1L << 20) - 1) >> 20
  private[plan] def ownMb: Long = ownBytes >> 20
}
