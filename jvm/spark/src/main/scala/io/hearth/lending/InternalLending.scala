package io.hearth.lending

import java.util.concurrent.TimeUnit

import io.hearth.core.topology.IdSet

/**
 * An executor in its place.
 *
 * @param registered whether Spark's scheduler knows it
 * @param running tasks that it runs now
 * @param waited how long its threads have waited for a CPU so far, in ns; absent where that is not counted
 */
final case class ExecutorLoad(
    id: String,
    registered: Boolean,
    running: Int,
    waited: Option[Long] = None
)

/** A place of the plan, whose CPUs an executor is bound to, and who is there. */
final case class PlacementState(
    place: Int,
    cpus: IdSet,
    nodes: IdSet,
    executor: Option[ExecutorLoad]
) {
  def idle: Boolean = executor.forall(w => w.registered && w.running == 0)
  def working: Option[ExecutorLoad] = executor.filter(w => w.registered && w.running > 0)
}

object PlacementState {

  /** Since when which executor, or none, has been idle in a place. */
  type Idle = Map[Int, (Option[String], Long)]

  def idleIn(placements: Vector[PlacementState], now: Long, pending: Boolean, before: Idle): Idle =
    if (pending) Map.empty
    else
      placements
        .filter(_.idle)
        .map { placement =>
          val who = placement.executor.map(_.id)
          placement.place -> before.get(placement.place).filter(_._1 == who).getOrElse((who, now))
        }
        .toMap
}

/**
 * What is decided from.
 *
 * @param now of `System.nanoTime`
 * @param pending whether there are tasks that no executor runs yet
 * @param waitsRead whether it was read how long threads have waited
 */
final case class InternalLendingState(
    now: Long,
    pending: Boolean,
    placements: Vector[PlacementState],
    waitsRead: Boolean
)

/** CPUs of idle places, by the ids of these places. */
final case class GrantedCpus(cpus: IdSet, places: Vector[Int])

object GrantedCpus {
  val nothing: GrantedCpus = GrantedCpus(IdSet.empty, Vector.empty)
}

/** An executor that may use other CPUs of idle places than before. */
final case class GrantChange(executorId: String, before: GrantedCpus, after: GrantedCpus)

/**
 * Who may use the CPUs of whom; decides who is to. Pure.
 *
 * A place is idle when it has no tasks, and none are pending, for [[InternalLending.Patience]]. Its CPUs are opened
 * to executors whose threads wait for CPUs, of the same memory nodes first: to others only where these have
 * none that are idle. Several executors may share them. They are taken back as soon as a task is pending or
 * starts there, or the executor has no task left.
 *
 * @param idle since when which executor, or none, has been idle in a place
 * @param waited an earlier count of how long an executor's threads have waited, and when it was taken
 * @param lent by executor
 */
final case class InternalLending(
    idle: PlacementState.Idle = Map.empty,
    waited: Map[String, (Long, Long)] = Map.empty,
    lent: Map[String, GrantedCpus] = Map.empty
) {

  /** The executors of which it is to be known how long their threads have waited. */
  def asks(now: InternalLendingState): Set[String] =
    if (now.pending || !now.placements.exists(_.idle)) Set.empty
    else now.placements.flatMap(_.working).map(_.id).toSet -- lent.keySet

  /** @return what is to be changed; CPUs that are taken back come first */
  def next(now: InternalLendingState): (InternalLending, Vector[GrantChange]) = {
    val still = PlacementState.idleIn(now.placements, now.now, now.pending, idle)
    val lenders =
      now.placements.filter(s =>
        still.get(s.place).exists(now.now - _._2 >= InternalLending.Patience)
      )
    val judged = waiting(now)
    val short = judged.collect { case (id, (_, true)) => id }.toSet
    val wanted = for {
      placement <- now.placements
      executor <- placement.working if short(executor.id) || lent.contains(executor.id)
      from = InternalLending.nearest(placement, lenders) if from.nonEmpty
    } yield executor.id -> GrantedCpus(IdSet.union(from.map(_.cpus)), from.map(_.place))
    val after = wanted.toMap
    val shifts = for {
      id <- (lent.keySet ++ after.keySet).toVector.sorted
      (old, now) = (of(lent, id), of(after, id)) if old != now
    } yield GrantChange(id, old, now)
    val (back, open) = shifts.partition(s => (s.before.cpus &~ s.after.cpus).nonEmpty)
    val counts = judged.collect { case (id, (Some(count), _)) => id -> count }
    (InternalLending(still, counts, after), back ++ open)
  }

  /** Without a loan that the kernel has refused. */
  def without(executorId: String): InternalLending = copy(lent = lent.removed(executorId))

  private def of(loans: Map[String, GrantedCpus], id: String) =
    loans.getOrElse(id, GrantedCpus.nothing)

  /** Of executors that may need more: the count to compare with next, and whether threads wait too long. */
  private def waiting(now: InternalLendingState): Map[String, (Option[(Long, Long)], Boolean)] = {
    val open = asks(now)
    val all = for {
      placement <- now.placements
      executor <- placement.working if open(executor.id)
    } yield executor.id ->
      (if (now.waitsRead) judge(placement, executor, now.now) else (waited.get(executor.id), false))
    all.toMap
  }

  private def judge(
      placement: PlacementState,
      executor: ExecutorLoad,
      now: Long
  ): (Option[(Long, Long)], Boolean) =
    (executor.waited, waited.get(executor.id)) match {
      case (None, _) => (None, true) // this kernel does not count
      case (Some(sum), None) => (Some((sum, now)), false)
      case (Some(sum), Some((before, at))) if now - at >= InternalLending.Patience =>
        val threads = (sum - before).toDouble / (now - at)
        (Some((sum, now)), threads >= InternalLending.short(placement.cpus.size))
      case (Some(_), count) => (count, false)
    }
}

object InternalLending {

  /** Shorter tails are over before anything would be gained. */
  val Patience: Long = TimeUnit.MILLISECONDS.toNanos(200)

  /** As many threads must wait for a CPU, on average, before an executor gets more: hearth's own figures. */
  def short(cpus: Int): Double = math.max(0.25, 0.05 * cpus)

  /** Memory of the place's own nodes is as near from there. */
  private def nearest(
      placement: PlacementState,
      lenders: Vector[PlacementState]
  ): Vector[PlacementState] = {
    val near = lenders.filter(_.nodes == placement.nodes)
    if (near.nonEmpty) near else lenders
  }
}
