package io.hearth.core.plan

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
}
