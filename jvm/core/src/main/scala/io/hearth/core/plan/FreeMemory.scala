package io.hearth.core.plan

import io.hearth.core.leases.Leases
import io.hearth.core.topology.{IdSet, Topology}

/**
 * Memory that nobody has leased.
 *
 * @param nodes bytes by memory node
 * @param limit bytes in all
 */
final case class FreeMemory(nodes: Map[Int, Long], limit: Long) {

  /** What each of so many processes may take on these nodes, evenly as leases count it; `all` share the limit. */
  def each(ids: IdSet, processes: Int, all: Int): Long =
    if (ids.isEmpty) 0L
    else
      math.min(
        ids.iterator.map(nodes.getOrElse(_, 0L)).min / processes * ids.size,
        limit / all
      )
}

object FreeMemory {

  /** Of what a plan would use: without what it leaves to the kernel. */
  def of(machine: Topology, leases: Leases): FreeMemory = {
    def usable(bytes: Long) = bytes / 100 * Pools.UsablePercent
    val taken = leases.memoryBytes
    val nodes = machine.nodes.map { node =>
      val total = usable(math.max(0L, node.memoryBytes - node.hugePageBytes))
      node.id -> math.max(0L, total - taken.getOrElse(node.id, 0L))
    }
    val limit = machine.allowed.memoryLimit
      .map { case (bytes, _) => math.max(0L, usable(bytes) - leases.ownMemoryBytes) }
    FreeMemory(nodes.toMap, limit.getOrElse(Long.MaxValue))
  }
}
