package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch, Topology}

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
   * @param scratch the file system in memory that shuffle files may use; a description has the one
   *                that Linux makes by default, the live machine none unless it was looked at
   * @return a plan, or the constraint that does not fit, by the name under which the user knows it
   */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet,
      scratch: Option[Scratch]
  ): Either[Unfit, Plan] =
    for {
      fixed <- Fixed.read(limits)
      ground <- Ground.of(topology, occupied)
      occupiedHere = occupied.intersects(topology.allowed.cpus)
      pools = poolsFor(ground, fixed)
      choice = Partitioning.decide(ground, fixed, workload, pools, occupiedHere)
      draft <- if (choice.native) native(ground, fixed) else partitioned(ground, fixed, pools)
    } yield draft(Setting(workload, choice, scratch))

  /** The same with the [[Scratch]] that the topology lets one assume. */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet
  ): Either[Unfit, Plan] = plan(topology, workload, limits, occupied, Scratch.assumed(topology))

  private type Draft = Setting => Plan

  private def partitioned(ground: Ground, fixed: Fixed, pools: Pools): Either[Unfit, Draft] =
    drafted(ground, fixed, pools, DriverPlace.footprint(fixed, _))(_.find)

  /** One JVM is driver and executor: the heap fixed for either is its heap, and is counted once. */
  private def native(ground: Ground, fixed: Fixed): Either[Unfit, Draft] = {
    val one = fixed.copy(heapMb = fixed.heapMb.orElse(fixed.driverHeapMb))
    val driver: Long => Long =
      if (fixed.driverHeapMb.nonEmpty) _ => 0L else DriverPlace.footprint(fixed, _)
    drafted(ground, one, Pools.of(ground, leastOf(one), driver), driver)(_.whole)
  }

  /**
   * Where an executor is too large for a node's memory, all nodes serve all executors; so too where
   * nodes are so short of memory that more tasks fit that way, unless the user fixed the heap. Memory
   * of nodes without CPUs serves only where fewer tasks would fit otherwise.
   */
  private def drafted(ground: Ground, fixed: Fixed, pools: Pools, driver: Long => Long)(
      find: Layouts => Either[Unfit, Layout]
  ): Either[Unfit, Draft] = {
    def found(from: Pools) = find(new Layouts(ground, from, fixed)).map(from -> _)
    val tight = found(pools)
    lazy val loose = found(Pools.joined(ground, driver, spare = false))
    lazy val spare = found(Pools.joined(ground, driver, spare = true))
    val free = fixed.heapMb.isEmpty
    val others = LazyList(Option(loose), Option.when(free)(spare)).flatten
    val chosen =
      if (tight.isRight && (!free || !fixed.shaped)) tight
      else others.foldLeft(tight)((best, next) => if (slotsOf(next) > slotsOf(best)) next else best)
    // The joined memory is the larger, so its refusal names the larger limit.
    val answer = if (chosen.isLeft) loose else chosen
    answer.map { case (from, layout) =>
      setting => new PlanDraft(ground, fixed, from, layout.inOrder, setting).plan
    }
  }

  private def slotsOf(found: Either[Unfit, (Pools, Layout)]): Int =
    found.fold(_ => 0, _._2.slots)

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
