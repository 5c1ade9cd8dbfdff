package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch, Topology}

/**
 * The decision engine: a pure function, without clock, file or process.
 *
 * It decides whether to partition (`Partitioning`), how many executors how wide and where
 * (`Layouts`, `Split`, `Packing`), their memory (`Pools`, `Memory`), collector
 * (`Collector`), the driver (`DriverPlacement`) and Spark's settings ([[DerivedSettings]]); `Reasons`
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
      usable <- UsableMachine.of(topology, occupied, TasksPerCore.of(workload, topology).most)
      occupiedHere = occupied.cpus.intersects(topology.allowed.cpus)
      attempt = (wanted: UserConstraints) => new Attempt(usable, wanted, workload, occupiedHere)
      settled <- attempt(constraints).settled.left.map(
        new RefusalAdvice(constraints, usable, attempt(_).settled.isRight).better
      )
      (choice, arrangement) = settled
      draft = new PlanDraft(
        usable,
        if (choice.native) constraints.ofOneJvm else constraints,
        arrangement,
        PlanInputs(workload, limits, choice, scratch)
      )
      _ <- new Tasks(draft).unfit.toLeft(())
    } yield draft.plan

  /** The same where others hold CPUs alone, with the `Scratch` that the topology lets one assume. */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet
  ): Either[Unfit, Plan] =
    plan(topology, workload, limits, Occupied(occupied), Scratch.assumed(topology))
}

/**
 * One try to give an application what was fixed for it.
 *
 * @param occupied whether others hold CPUs that this process may use
 */
final private class Attempt(
    usable: UsableMachine,
    constraints: UserConstraints,
    workload: Workload,
    occupied: Boolean
) {
  private val driverMb: Long => Long = DriverPlacement.footprint(constraints, _)

  /**
   * Pools that each hold one executor of the size the user fixed; where none does, or where he also
   * fixed the count, pools that hold the least executor, which larger ones may then span.
   */
  private val pools: Pools = {
    val sized = Pools.of(usable, Memory.minFootprint(constraints), driverMb)
    val spans = sized.all.sizeIs == 1 && usable.nodes.sizeIs > 1
    val min = constraints.footprintOf(Memory.MinHeapMb)
    val all =
      if (constraints.executors.nonEmpty || spans) Pools.of(usable, min, driverMb) else sized
    if (constraints.byPackage) all.byPackage else all
  }

  private val rules = new PartitionRules(usable, constraints, workload, pools)

  /**
   * One executor that would have all CPUs is one JVM: nothing is gained by a second beside it. The
   * same holds where the user left the count open and memory suffices for only one.
   */
  def settled: Either[Unfit, (Partitioning, Arrangement)] = {
    val choice = rules.decide(occupied)
    lazy val one = native.map(crowded.fold(rules.one)(rules.crowded) -> _)
    if (choice.native) native.map(choice -> _)
    else
      partitioned match {
        case Right(executors) if choice.forced => Right(choice -> executors)
        case Right(executors) if several(executors) =>
          Right(rules.several(executors.layout) -> executors)
        case Right(executors) if executors.layout.cpus != usable.cpus =>
          Right(rules.oneBound -> executors)
        case Left(unfit) if choice.forced => Left(unfit)
        case Left(unfit) => one.left.map(_ => unfit)
        case Right(_) => one
      }
  }

  private def several(arrangement: Arrangement) = arrangement.layout.placements.sizeIs > 1

  /** The driver's heap, where several executors would fit beside a smaller one. */
  private def crowded: Option[UserValue[Long]] = constraints.driverHeapMb.filter { _ =>
    val free = constraints.copy(driverHeapMb = None)
    new Attempt(usable, free, workload, occupied).partitioned.exists(several)
  }

  private def partitioned: Either[Unfit, Arrangement] =
    arranged(constraints, pools, driverMb)(_.find).flatMap {
      case arrangement if !constraints.byPackage => Right(arrangement)
      case arrangement =>
        Violation.packages(usable, constraints, arrangement).toLeft {
          val shared = arrangement.pools.byPackage
          Arrangement(shared, arrangement.layout.sharing(shared))
        }
    }

  /** One JVM is driver and executor: the heap fixed for either is its heap, and is counted once. */
  private def native: Either[Unfit, Arrangement] = {
    val one = constraints.ofOneJvm
    val none: Long => Long = _ => 0L
    for {
      _ <- RequestChecks.checkHeap(one.heapMb, constraints.allDriverOptions)
      pools = Pools.joined(usable, none, spare = false)
      arrangement <- arranged(one, pools, none)(_.whole)
    } yield arrangement
  }

  /**
   * Where an executor is too large for a node's memory, all nodes serve all executors; so too where
   * nodes are so short of memory that more tasks fit that way, unless the user fixed the heap.
   * Memory of nodes without CPUs is used only where fewer tasks would fit otherwise.
   */
  private def arranged(wanted: UserConstraints, pools: Pools, driverMb: Long => Long)(
      find: Layouts => Either[Unfit, Layout]
  ): Either[Unfit, Arrangement] = {
    def of(from: Pools) = {
      def on(these: Pools) =
        find(new Layouts(usable, these, wanted, workload)).map(l => Arrangement(these, l.inOrder))
      on(from).map { first =>
        from.only(first.layout.cpus, usable, driverMb).flatMap(on(_).toOption).getOrElse(first)
      }
    }
    val tight = of(pools)
    lazy val loose = of(Pools.joined(usable, driverMb, spare = false))
    lazy val spare = of(Pools.joined(usable, driverMb, spare = true))
    if (tight.isRight && wanted.heapMb.nonEmpty) tight
    else {
      val chosen = LazyList(loose, spare).foldLeft(tight) { (best, next) =>
        if (slotsOf(best) < usable.slots && slotsOf(next) > slotsOf(best)) next else best
      }
      // The joined memory is the largest, so its refusal names the largest limit.
      if (chosen.isLeft) spare else chosen
    }
  }

  private def slotsOf(attempt: Either[Unfit, Arrangement]): Int =
    attempt.fold(_ => 0, _.layout.slots)
}
