package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch, Topology}

/**
 * The decision engine: a pure function, without clock, file or process.
 *
 * It decides whether to partition ([[Partitioning]]), how many executors how wide and where
 * ([[Layouts]], [[Split]], [[Packing]]), their memory ([[Pools]], [[Memory]]), collector
 * ([[Collector]]), the driver ([[DriverPlacement]]) and Spark's settings ([[DerivedSettings]]); [[Reasons]]
 * says why. Every CPU that may be used is used, unless the user fixed a smaller shape.
 */
object Planner {

  /**
   * Plans an application on a machine.
   *
   * @param asked what is known of the application; what runs on a native engine is SQL
   * @param occupied what other applications hold, which is not used
   * @param scratch the file system in memory that shuffle files may use; a description has the one
   *                that Linux makes by default, the live machine none unless it was looked at
   * @return a plan, or the constraint that does not fit, by the name under which the user knows it
   */
  def plan(
      topology: Topology,
      asked: Workload,
      limits: Limits,
      occupied: Occupied,
      scratch: Option[Scratch]
  ): Either[Unfit, Plan] =
    for {
      constraints <- UserConstraints.read(limits, asked)
      workload = constraints.engine.fold(asked)(_.workload(asked))
      usable <- UsableMachine.of(topology, occupied)
      occupiedHere = occupied.cpus.intersects(topology.allowed.cpus)
      attempt = (wanted: UserConstraints) => settled(usable, wanted, workload, occupiedHere)
      found <- attempt(constraints).left.map(
        new RefusalAdvice(constraints, usable, attempt(_).isRight).better
      )
      draft = new PlanDraft(
        usable,
        if (found._1.native) constraints.ofOneJvm else constraints,
        found._2,
        PlanInputs(workload, limits, found._1, scratch)
      )
      _ <- new Tasks(draft).unfit.toLeft(())
    } yield draft.plan

  /** The same where other applications hold CPUs, and of their nodes' memory as much in proportion. */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet,
      scratch: Option[Scratch]
  ): Either[Unfit, Plan] = plan(topology, workload, limits, Occupied(occupied), scratch)

  /** The same with the [[Scratch]] that the topology lets one assume. */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet
  ): Either[Unfit, Plan] = plan(topology, workload, limits, occupied, Scratch.assumed(topology))

  /**
   * One executor that would have all CPUs is one JVM: nothing is gained by a second beside it. The
   * same holds where the user left the count open and memory suffices for only one.
   */
  private def settled(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload,
      occupied: Boolean
  ): Either[Unfit, (Partitioning, Arrangement)] = {
    val pools = poolsFor(usable, constraints)
    val choice = Partitioning.decide(usable, constraints, workload, pools, occupied)
    def several(found: Arrangement) = found.layout.placements.sizeIs > 1
    def crowded = constraints.driverHeapMb.filter { _ =>
      val free = constraints.copy(driverHeapMb = None)
      partitioned(usable, free, workload, poolsFor(usable, free)).exists(several)
    }
    lazy val one = native(usable, constraints, workload).map(
      crowded.fold(Partitioning.one(usable, constraints))(Partitioning.crowded) -> _
    )
    if (choice.native) native(usable, constraints, workload).map(choice -> _)
    else
      partitioned(usable, constraints, workload, pools) match {
        case Right(found) if choice.forced => Right(choice -> found)
        case Right(found) if several(found) =>
          Right(Partitioning.several(usable, found.layout, workload) -> found)
        case Right(found) if found.layout.cpus != usable.cpus =>
          Right(Partitioning.oneBound(usable, constraints) -> found)
        case Left(unfit) if choice.forced => Left(unfit)
        case Left(unfit) => one.left.map(_ => unfit)
        case Right(_) => one
      }
  }

  private def partitioned(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload,
      pools: Pools
  ): Either[Unfit, Arrangement] =
    arranged(usable, constraints, workload, pools, DriverPlacement.footprint(constraints, _))(
      _.find
    ).flatMap {
      case found if !constraints.byPackage => Right(found)
      case found =>
        Violation.packages(usable, constraints, found).toLeft {
          val shared = found.pools.byPackage
          Arrangement(shared, found.layout.sharing(shared))
        }
    }

  /** One JVM is driver and executor: the heap fixed for either is its heap, and is counted once. */
  private def native(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload
  ): Either[Unfit, Arrangement] = {
    val one = constraints.ofOneJvm
    val driver: Long => Long = _ => 0L
    for {
      _ <- RequestChecks.checkHeap(one.heapMb, constraints.allDriverOptions)
      pools = Pools.joined(usable, driver, spare = false)
      found <- arranged(usable, one, workload, pools, driver)(_.whole)
    } yield found
  }

  /**
   * Where an executor is too large for a node's memory, all nodes serve all executors; so too where
   * nodes are so short of memory that more tasks fit that way, unless the user fixed the heap.
   * Memory of nodes without CPUs is used only where fewer tasks would fit otherwise.
   */
  private def arranged(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload,
      pools: Pools,
      driver: Long => Long
  )(find: Layouts => Either[Unfit, Layout]): Either[Unfit, Arrangement] = {
    def found(from: Pools) = {
      def on(these: Pools) =
        find(new Layouts(usable, these, constraints, workload)).map(l =>
          Arrangement(these, l.inOrder)
        )
      on(from).map { first =>
        from.only(first.layout.cpus, usable, driver).flatMap(on(_).toOption).getOrElse(first)
      }
    }
    val tight = found(pools)
    lazy val loose = found(Pools.joined(usable, driver, spare = false))
    lazy val spare = found(Pools.joined(usable, driver, spare = true))
    if (tight.isRight && constraints.heapMb.nonEmpty) tight
    else {
      val chosen = LazyList(loose, spare).foldLeft(tight) { (best, next) =>
        if (slotsOf(best) < usable.slots && slotsOf(next) > slotsOf(best)) next else best
      }
      // The joined memory is the largest, so its refusal names the largest limit.
      if (chosen.isLeft) spare else chosen
    }
  }

  private def slotsOf(found: Either[Unfit, Arrangement]): Int = found.fold(_ => 0, _.layout.slots)

  /**
   * Pools that each hold one executor of the size the user fixed; where none does, or where he also
   * fixed the count, pools that hold the least executor, which larger ones may then span.
   */
  private def poolsFor(usable: UsableMachine, constraints: UserConstraints): Pools = {
    val driver: Long => Long = DriverPlacement.footprint(constraints, _)
    val own = Pools.of(usable, Memory.least(constraints), driver)
    val spans = own.all.sizeIs == 1 && usable.nodes.sizeIs > 1
    val found =
      if (constraints.executors.nonEmpty || spans) Pools.of(usable, leastOf(constraints), driver)
      else own
    if (constraints.byPackage) found.byPackage else found
  }

  private def leastOf(constraints: UserConstraints): Long =
    constraints.footprintOf(Memory.MinHeapMb)
}
