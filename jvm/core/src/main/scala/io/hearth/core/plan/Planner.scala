package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Topology}

/**
 * The decision engine: a pure function, without clock, file or process.
 *
 * It decides whether to partition ([[Partitioning]]), how many executors of which width and where
 * ([[Layouts]], [[Split]], [[Packing]]), their memory ([[Pools]], [[Memory]]), collector
 * ([[Collector]]), the driver ([[DriverPlace]]) and Spark's settings ([[Settings]]); [[Reasons]]
 * says why. Every CPU that may be used is used, unless the user fixed a smaller shape.
 */
object Planner {

  /**
   * Plans an application on a machine.
   *
   * @param occupied CPUs that other applications hold; they and their share of their node's memory
   *                 are not used
   * @return a plan, or the constraint that does not fit, by the name under which the user knows it
   */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet
  ): Either[Unfit, Plan] =
    for {
      fixed <- Fixed.read(limits)
      ground <- Ground.of(topology, occupied)
      occupiedHere = occupied.intersects(topology.allowed.cpus)
      pools = poolsFor(ground, fixed)
      choice = Partitioning.decide(ground, fixed, workload, pools, occupiedHere)
      draft <- if (choice.native) native(ground, fixed) else partitioned(ground, fixed, pools)
    } yield draft(workload, choice)

  private type Draft = (Workload, Partitioning) => Plan

  private def partitioned(ground: Ground, fixed: Fixed, pools: Pools): Either[Unfit, Draft] = {
    val layouts = new Layouts(ground, pools, fixed)
    layouts.find.map { layout =>
      val ordered = layout.inOrder
      (workload, choice) => new PlanDraft(ground, fixed, pools, ordered, workload, choice).plan
    }
  }

  /** One JVM is driver and executor: the heap fixed for either is its heap, and is counted once. */
  private def native(ground: Ground, fixed: Fixed): Either[Unfit, Draft] = {
    val one = fixed.copy(heapMb = fixed.heapMb.orElse(fixed.driverHeapMb))
    val driver: Long => Long =
      if (fixed.driverHeapMb.nonEmpty) _ => 0L else DriverPlace.footprint(fixed, _)
    val pools = Pools.of(ground, leastOf(one), driver)
    new Layouts(ground, pools, one).whole.map { layout => (workload, choice) =>
      new PlanDraft(ground, one, pools, layout, workload, choice).plan
    }
  }

  /**
   * Pools that each hold one executor of the size the user fixed; where none does, or where he also
   * fixed the count, pools that hold the least executor, which larger ones may then span.
   */
  private def poolsFor(ground: Ground, fixed: Fixed): Pools = {
    val driver: Long => Long = DriverPlace.footprint(fixed, _)
    val own = Pools.of(ground, Memory.least(fixed), driver)
    val spans = own.all.sizeIs == 1 && ground.nodes.sizeIs > 1
    if (fixed.executors.nonEmpty || spans) Pools.of(ground, leastOf(fixed), driver) else own
  }

  private def leastOf(fixed: Fixed): Long = fixed.footprintOf(Memory.LeastHeapMb)
}
