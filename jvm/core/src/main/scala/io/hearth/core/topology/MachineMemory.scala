package io.hearth.core.topology

/**
 * The nodes' memory held against the machine's.
 *
 * @param nodes with the memory that holds
 * @param limitBytes what all nodes together hold at most, where that is less than their sum
 * @param warning both figures and which of them holds, where they disagree
 */
final private[topology] case class MachineMemory(
    nodes: Vector[NumaNode],
    limitBytes: Option[Long],
    warning: Option[String]
)

private[topology] object MachineMemory {

  /** Sums that differ by less agree: the two files are not read at the same moment. */
  val TolerancePercent = 3L

  /**
   * `/proc/meminfo` counts memory that the kernel has not initialised yet, which a node's `meminfo`
   * counts only once it has (CONFIG_DEFERRED_STRUCT_PAGE_INIT); so where the nodes have less than the
   * machine, the machine's figure holds where there is one node, else each has what it has `present`. Where they have
   * more, `/proc/meminfo` is that of a container (lxcfs), whose limit it is.
   *
   * @param alone whether there is one node, no other is possible, and every CPU is on it
   * @param machine of `/proc/meminfo`
   * @param present by node, memory present there whether or not initialised, where known
   */
  def settled(
      nodes: Vector[NumaNode],
      alone: Boolean,
      machine: MemInfo,
      present: => Map[Int, Long]
  ): MachineMemory = {
    val sum = nodes.iterator.map(_.memoryBytes).sum
    machine.total.filter(total => (total - sum).abs * 100 > total * TolerancePercent) match {
      case Some(total) if sum > total =>
        val holds = "the smaller is used for all nodes together"
        MachineMemory(nodes, Some(total), Some(s"${disagree(sum, total)}: $holds"))
      case Some(total) if sum > 0 => raised(nodes, alone, machine, total, present)
      case _ => MachineMemory(nodes, None, None)
    }
  }

  private def raised(
      nodes: Vector[NumaNode],
      alone: Boolean,
      machine: MemInfo,
      total: Long,
      present: Map[Int, Long]
  ): MachineMemory = {
    val sum = nodes.iterator.map(_.memoryBytes).sum
    def withWarning(corrected: Vector[NumaNode], how: String) =
      MachineMemory(corrected, None, Some(s"${disagree(sum, total)}: $how"))
    val missing = nodes.map(n => math.max(0L, present.getOrElse(n.id, 0L) - n.memoryBytes))
    if (alone)
      withWarning(
        Vector(nodes.head.copy(memoryBytes = total, freeBytes = machine.free)),
        "the larger is used, as the kernel initialises memory when it is first needed"
      )
    else if (missing.sum == 0)
      withWarning(nodes, "the smaller is used, as nothing says on which node the rest is")
    else {
      val part = math.min(1.0, (total - sum).toDouble / missing.sum)
      withWarning(
        nodes.zip(missing).map { case (node, more) =>
          node.copy(memoryBytes = node.memoryBytes + (more * part).toLong)
        },
        "each node's present memory counts, as the kernel initialises memory when it is first needed"
      )
    }
  }

  private def disagree(sum: Long, total: Long) =
    s"the NUMA nodes' memory adds up to ${sum >> 20} MB, /proc/meminfo says ${total >> 20} MB"

  /**
   * Bytes present by node, of `/proc/zoneinfo`, which counts pages: those that are `managed` make up
   * the node's total, which gives a page's size.
   */
  def presentIn(zoneinfo: String, nodes: Vector[NumaNode]): Map[Int, Long] = {
    val (_, pages) = zoneinfo.linesIterator.foldLeft((-1, Map.empty[(Int, String), BigInt])) {
      case ((node, counts), line) =>
        line.trim.split("\\s+") match {
          case Array("Node", id, "zone", _) =>
            (id.stripSuffix(",").toIntOption.getOrElse(-1), counts)
          case Array(what @ ("present" | "managed"), Pages(count)) =>
            (node, counts.updated(node -> what, counts.getOrElse(node -> what, BigInt(0)) + count))
          case _ => (node, counts)
        }
    }
    (for {
      node <- nodes
      present <- pages.get(node.id -> "present")
      managed <- pages.get(node.id -> "managed").filter(_ > 0)
      bytes = node.memoryBytes * present / managed
      if bytes <= MemInfo.MaxBytes
    } yield node.id -> bytes.toLong).toMap
  }

  private object Pages {
    def unapply(text: String): Option[BigInt] = text.toLongOption.filter(_ >= 0).map(BigInt(_))
  }
}
