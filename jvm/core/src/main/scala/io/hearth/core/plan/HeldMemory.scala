package io.hearth.core.plan

import io.hearth.core.leases.Leases
import io.hearth.core.topology.{Neighbours, NumaNode, Topology}

/** Memory that processes without a lease hold now, so that no executor is planned into it. */
private[plan] object HeldMemory {

  /** With less, a node's plan is not changed: what comes and goes would make every plan another one. */
  private val MinBytes = 2L << 30

  /** Parts of a node in which it is counted, for the same reason. */
  private val Steps = 8

  /** Bytes by node that the plan leaves alone, besides the part that every plan leaves to others. */
  def of(topology: Topology, neighbours: Neighbours, leases: Leases): Map[Int, Long] = for {
    (id, available) <- available(topology, neighbours)
    node <- topology.node(id)
    leased = leases.memoryBytes.getOrElse(id, 0L)
    bytes = beyond(node, node.memoryBytes - node.hugePageBytes - available - leased)
    if bytes > 0
  } yield id -> bytes

  /** Of a machine with one node, [[Coexistence]] counts all that is available. */
  private def available(topology: Topology, now: Neighbours): Map[Int, Long] =
    if (topology.nodes.sizeIs > 1) now.availableOn else Map.empty

  private def beyond(node: NumaNode, heldBytes: Long): Long = {
    val total = node.memoryBytes - node.hugePageBytes
    val left = total * (100 - Pools.UsablePercent) / 100
    if (heldBytes <= math.max(left, MinBytes)) 0L
    else {
      // The plan takes a part of what it is given: so much less makes it end where the held memory begins.
      val without = (heldBytes - left) * 100 / Pools.UsablePercent
      val step = math.max(1L, total / Steps)
      math.min(total, (without + step - 1) / step * step)
    }
  }
}
