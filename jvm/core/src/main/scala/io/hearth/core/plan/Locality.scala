package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.topology.IdSet

/**
 * Where an executor is, as the plan's sentences speak of it.
 *
 * @param cpuNodes nodes of its CPUs; None is a CPU that the kernel puts in no node
 * @param memoryNodes kernel ids of the nodes of its memory
 * @param oneCache whether its CPUs share a last-level cache
 */
final private[plan] case class Locality(
    cpuNodes: Set[Option[Int]],
    memoryNodes: IdSet,
    oneCache: Boolean
) {

  /** All its CPUs and all its memory are on one node. */
  def local: Boolean =
    cpuNodes.sizeIs == 1 && cpuNodes.head.exists(node => memoryNodes == IdSet(node))

  def cpusOnOneNode: Boolean = cpuNodes.sizeIs == 1
}

private[plan] object Locality {

  /** One for each executor of the layout. */
  def of(usable: UsableMachine, layout: Layout): Vector[Locality] =
    layout.placements.zip(layout.nodes).map { case (placement, memory) =>
      val cores = placement.cpus.map(usable.coreOf)
      val caches = cores.map(_.cache).distinct
      Locality(cores.iterator.map(_.node).toSet, memory, caches.sizeIs == 1 && caches.head >= 0)
    }

  /** How near executors' CPUs and memory are to each other. */
  def reason(usable: UsableMachine, layout: Layout): Reason = {
    val places = of(usable, layout)
    if (layout.shared) shared(layout)
    else if (places.forall(_.local)) local(places, usable.topology.nodes.size)
    else spread(places)
  }

  private def shared(layout: Layout) = {
    val each = layout.placements.groupBy(_.cpus).values.map(_.size).toVector.sorted
    val number = if (each.head == each.last) s"${each.head}" else s"${each.head} to ${each.last}"
    Reason(
      "placement",
      "package",
      s"each executor may use every CPU of its package and the memory of its nodes, shared by $number " +
        "executors: the kernel evens out load between them, and memory may come from another node of the " +
        "package; no study in docs/sources.md measured this",
      "user"
    )
  }

  private def local(places: Vector[Locality], nodes: Int) = {
    val remote = if (nodes > 1) ": remote memory costs about 10 % on average" else ""
    if (places.forall(_.oneCache))
      Reason(
        "placement",
        "last-level cache",
        "each executor's CPUs share a last-level cache, the tightest place that fits, and its " +
          s"memory is their NUMA node's$remote",
        "Chiba 2015; Awan 2016"
      )
    else
      Reason(
        "placement",
        "NUMA node",
        s"each executor stays inside one NUMA node, with its CPUs and its memory$remote",
        "Chiba 2015; Awan 2016"
      )
  }

  /** How many executors have their CPUs or their memory elsewhere than on one node, and why. */
  private def spread(places: Vector[Locality]) = {
    def count(n: Int, what: String) =
      Option.when(n > 0)(
        s"$n of ${Counted(places.size, "executor")} ${if (n == 1) "has" else "have"} $what"
      )
    val notes = Vector(
      count(places.count(!_.cpusOnOneNode), "CPUs on several NUMA nodes"),
      count(places.count(_.memoryNodes.size > 1), "memory on several NUMA nodes"),
      count(
        places.count(p => p.cpusOnOneNode && p.memoryNodes.size == 1 && !p.local),
        "memory on a node other than their CPUs'"
      )
    ).flatten
    Reason(
      "placement",
      if (places.forall(_.cpusOnOneNode)) "CPUs on one NUMA node" else "several NUMA nodes",
      s"${notes.mkString(", ")}: an executor is wider than a node, or a node has too little " +
        "usable memory",
      "hearth"
    )
  }
}
