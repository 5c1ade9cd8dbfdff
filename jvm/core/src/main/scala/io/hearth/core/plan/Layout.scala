package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.topology.{DeviceKind, IdSet}

/**
 * Where executors sit and what memory each can have.
 *
 * @param placements one for each executor
 * @param nodes memory nodes of each
 * @param roomsMb memory of each executor, heap and everything else included
 * @param narrowed whether executors have fewer task slots than their CPUs are worth, for lack of
 * memory
 * @param reason why executors are so many and so wide, once this is the layout
 */
final private[plan] case class Layout(
    placements: Vector[Placement],
    nodes: Vector[IdSet],
    roomsMb: Vector[Long],
    narrowed: Boolean = false,
    reason: Option[Reason] = None
) {
  def cpus: IdSet = IdSet.from(placements.iterator.flatMap(_.cpus))
  def slots: Int = placements.iterator.map(_.slots).sum
  def narrowest: Int = placements.iterator.map(_.slots).min
  def widest: Int = placements.iterator.map(_.slots).max
  def uniform: Boolean = narrowest == widest

  /** Whether executors share the CPUs of their package. */
  def shared: Boolean = placements.exists(_.sharing.nonEmpty)

  def explained(because: String, source: String): Layout = {
    val slots = if (uniform) s"$narrowest" else s"$narrowest to $widest"
    copy(reason = Some(Reason("executors", s"${placements.size} x $slots", because, source)))
  }

  /** Every executor on all CPUs of its pool, which the executors there share. */
  def sharing(pools: Pools): Layout = {
    val cpusOf = pools.all.flatMap { pool =>
      val cpus = pool.cores.flatMap(_.cpus).sorted
      cpus.map(_ -> cpus)
    }.toMap
    copy(placements =
      placements.map(s => s.copy(cpus = cpusOf(s.cpus.head), sharing = Some(s.cpus.size)))
    )
  }

  /** Sites by their first CPU, so that executors are numbered along the machine. */
  def inOrder: Layout = {
    val order = placements.indices.sortBy(placements(_).cpus.head).toVector
    copy(order.map(placements), order.map(nodes), order.map(roomsMb))
  }
}

/** Finds a layout: as many executors as the rules or the user want, fewer where memory is short. */
final private[plan] class Layouts(
    usable: UsableMachine,
    pools: Pools,
    constraints: UserConstraints,
    workload: Workload
) {
  private lazy val widths = new Widths(usable, pools, constraints, workload)

  /** The most task slots: `spark.cores.max`, or the CPU quota's, where less than the CPUs are worth. */
  private val max: Option[Int] =
    (constraints.coresMax.map(_.value) ++ usable.quotaSlots).minOption.filter(_ < usable.slots)

  /** GPUs of each executor, where the user asks for some and the topology knows any. */
  private val gpusEach: Option[Int] = constraints.conf
    .get("spark.executor.resource.gpu.amount")
    .flatMap(_.trim.toIntOption)
    .filter(_ > 0 && gpus > 0)

  private def gpus: Int = usable.topology.devices.count(_.kind == DeviceKind.Gpu)
  private val withGpus: Option[Int] = gpusEach.map(each => math.max(1, gpus / each))

  /** The most executors where the user left their number open. */
  private val atMost: Option[Int] =
    (constraints.dynamic.flatMap(_.atMost) ++ withGpus).minOption

  private lazy val machine = Part.machine(pools.all)
  private val distances: Distances = usable.distance(_, _)

  /** One executor over everything. */
  def whole: Either[Unfit, Layout] = firstFit(Iterator(capped(1))).map { layout =>
    val each =
      if (usable.quotaSlots.isEmpty) "worthwhile thread" else s"whole CPU of ${usable.quotaName}"
    if (layout.narrowed) layout.explained(s"one JVM; ${narrowed(layout)}", "hearth")
    else layout.explained(s"one JVM with a task for each $each", "Spark: local[n]")
  }

  def find: Either[Unfit, Layout] = chosen.map(explained)

  private def chosen: Either[Unfit, Layout] = (constraints.executors, constraints.cores) match {
    case (Some(n), Some(m)) => counted(n.value).flatMap(_ => placed(n.value, m.value))
    case (Some(n), None) => counted(n.value).flatMap(_ => firstFit(Iterator(capped(n.value))))
    case (None, Some(m)) => fitting(m)
    case (None, None) => automatic
  }

  private def explained(layout: Layout): Layout = {
    val fixed = (constraints.executors ++ constraints.cores ++ constraints.coresMax).map(_.name)
    val (because, source) =
      if (fixed.nonEmpty) (s"${fixed.mkString(" and ")} fixed by the user", "user")
      else if (constraints.dynamic.nonEmpty)
        ("places for dynamic allocation to fill, at most its maxExecutors", "user")
      else byRule(layout)
    val few = byGpus(layout) ++ Option.when(layout.narrowed)(narrowed(layout))
    layout.explained((because +: few.toVector).mkString("; "), source)
  }

  /** The rule that chose the width; where there are fewer executors than it wants, why. */
  private def byRule(layout: Layout): (String, String) = {
    val count = layout.placements.size
    val wanted = widths.count(max.getOrElse(usable.slots))
    val fewer =
      if (count < wanted && byGpus(layout).isEmpty) s"; memory suffices for $count" else ""
    val rules = widths.rules
    (
      rules.map(_.because).mkString("; ") + fewer,
      rules.flatMap(_.source.split("; ")).distinct.mkString("; ")
    )
  }

  private def byGpus(layout: Layout): Option[String] = gpusEach
    .filter(_ => constraints.executors.isEmpty && withGpus.contains(layout.placements.size))
    .map(each => s"${Counted(gpus, "GPU")}, $each for each executor")

  private def narrowed(layout: Layout) =
    s"${layout.slots} of ${usable.slots} worthwhile threads have a task slot, as each needs " +
      s"${Memory.MinTaskMb} MB of heap beyond the ${Memory.ReservedMb} MB that Spark reserves"

  private def automatic: Either[Unfit, Layout] = {
    val counts = widths.perPool.map(_.zip(pools.all).map { case (n, pool) =>
      math.max(1, math.min(n, byMemory(pool)))
    })
    val byPool = counts.filter(n => atMost.forall(_ >= n.sum) && max.isEmpty).map(perPool)
    val start = (Vector(byTotalMemory, bySlots) ++ counts.map(_.sum) ++ atMost).min
    mostTasks(byPool.iterator ++ fewer(math.max(1, start)).map(capped))
  }

  /** Counts of executors to try: each up to 32; above that each is a sixteenth less than the one before. */
  private def fewer(start: Int): Iterator[Int] =
    Iterator.iterate(start)(n => n - math.max(1, n / 16)).takeWhile(_ > 0)

  private def byMemory(pool: Pool): Int = (pool.memoryMb / Memory.comfortable(constraints)).toInt

  private def byTotalMemory: Int = (pools.memoryMb / Memory.minFootprint(constraints)).toInt

  private def bySlots: Int = {
    val slots = max.getOrElse(usable.slots)
    math.max(1, math.min(slots / constraints.taskCpus, widths.count(slots)))
  }

  private def perPool(counts: Vector[Int]): Layout =
    laidOut(pools.all.zip(counts).flatMap { case (pool, n) =>
      Split.evenly(Part.pool(pool), n, distances)
    })

  private def laidOut(cpus: Vector[Vector[Int]]): Layout =
    withMemory(cpus.map(each => Placement(each.sorted, usable.slotsOn(each))))

  private def withMemory(placements: Vector[Placement]): Layout = {
    val rooms = Memory.rooms(constraints, pools, placements)
    val affordable =
      placements.zip(Room.of(constraints, placements, rooms.roomsMb, workload)).map {
        case (placement, room) =>
          val slots = Memory.slotsIn(constraints, Memory.ofTasks(constraints, room))
          placement.copy(slots = math.min(placement.slots, math.max(constraints.taskCpus, slots)))
      }
    // Counts and heaps that the user fixed stay: the plan then says how little memory a slot has.
    val narrowed =
      constraints.heapMb.isEmpty && constraints.cores.isEmpty && affordable != placements
    Layout(if (narrowed) affordable else placements, rooms.nodes, rooms.roomsMb, narrowed)
  }

  /**
   * `n` executors over the whole machine, with no more slots than may be: the quota leaves each the slots of
   * one task.
   */
  private def capped(n: Int): Layout = max match {
    case None => laidOut(Split.evenly(machine, n, distances))
    case Some(max) =>
      val min = if (constraints.coresMax.exists(_.value <= max)) 0 else constraints.taskCpus
      val widths = Vector.tabulate(n)(i => math.max(min, max / n + (if (i < max % n) 1 else 0)))
      packed(widths).getOrElse(laidOut(Split.evenly(machine, n, distances)))
  }

  private def packed(widths: Vector[Int]): Option[Layout] =
    Packing.place(pools.all, widths, distances).map { cpus =>
      withMemory(cpus.zip(widths).map { case (each, width) => Placement(each.sorted, width) })
    }

  private def counted(n: Int): Either[Unfit, Unit] =
    Either.cond(n <= usable.cpus.size, (), Violation.executors(usable, constraints))

  private def placed(n: Int, m: Int): Either[Unfit, Layout] =
    if (n.toLong * m > usable.cpus.size) Left(Violation.product(usable, constraints))
    else firstFit(packed(Vector.fill(n)(m)).iterator)

  private def fitting(m: UserValue[Int]): Either[Unfit, Layout] = {
    val limits =
      constraints.coresMax.map(_.value / m.value) ++ atMost ++
        usable.quotaSlots.map(slots => math.max(1, slots / m.value))
    val count = (Packing.count(pools.all, m.value) +: limits.toVector).min
    if (count < 1) Left(Violation.cores(usable, m))
    else {
      val start = math.max(1, math.min(count, byTotalMemory))
      firstFit(Iterator.range(start, 0, -1).flatMap(n => packed(Vector.fill(n)(m.value))))
    }
  }

  /**
   * Of the layouts that fit, the one with the most tasks; among equals the first: fewer executors
   * leave more of a scarce memory to tasks.
   */
  private def mostTasks(layouts: Iterator[Layout]): Either[Unfit, Layout] = {
    val all = layouts.to(LazyList)
    val enough = max.getOrElse(usable.slots)
    val fit = all.filter(Violation.layout(_, constraints, pools).isEmpty)
    fit
      .find(_.slots >= enough)
      .orElse(fit.maxByOption(_.slots))
      .toRight(all.lastOption.flatMap(Violation.layout(_, constraints, pools)))
      .left
      .map(_.getOrElse(Violation.product(usable, constraints)))
  }

  /**
   * The first layout whose executors hold their memory and one task; else why the last one does not
   * fit.
   */
  private def firstFit(layouts: Iterator[Layout]): Either[Unfit, Layout] = {
    val tried = layouts.map(l => Violation.layout(l, constraints, pools).toLeft(l)).buffered
    val all = tried.to(LazyList)
    all
      .find(_.isRight)
      .orElse(all.lastOption)
      .getOrElse(Left(Violation.product(usable, constraints)))
  }
}
