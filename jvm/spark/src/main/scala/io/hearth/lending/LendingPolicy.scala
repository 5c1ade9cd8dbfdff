package io.hearth.lending

import java.util.concurrent.TimeUnit

import io.hearth.core.plan.FreeMemory
import io.hearth.core.topology.IdSet

/**
 * CPUs of another application that an executor of this one has.
 *
 * @param id of the loan
 * @param cpus how many
 * @param stands whether the lender still does without them, and lives
 */
final case class LoanStatus(id: String, executorId: String, cpus: Int, stands: Boolean)

/**
 * What is decided from.
 *
 * @param now of `System.nanoTime`
 * @param pending how many tasks no executor runs yet
 * @param barrier whether tasks of a barrier stage are among them or run: these get no borrowed slots
 * @param slotsPerTask that a task takes
 */
final case class LendingState(
    now: Long,
    pending: Int,
    barrier: Boolean,
    slotsPerTask: Double,
    placements: Vector[PlacementState],
    borrowed: Vector[LoanStatus]
)

/** An executor all of whose slots have tasks, while others are pending, or that runs more tasks than that. */
final case class Demand(executorId: String, nodes: IdSet)

/**
 * What is to be done.
 *
 * @param offer places whose CPUs are others' to use; of all other places they are not
 * @param back loans that end
 * @param demands who could do with more CPUs
 * @param cpus how many of them, in all
 */
final case class LendingStep(offer: Set[Int], back: Set[String], demands: Vector[Demand], cpus: Int)

/** CPUs that another application leaves to others, and the memory nodes that are near to them. */
final case class FreeOffer(offer: String, cpus: IdSet, nodes: IdSet)

/**
 * An executor that may have more CPUs.
 *
 * @param max how many: as far as there is memory for the tasks on them
 */
final case class Borrower(executorId: String, nodes: IdSet, max: Int)

/** What an executor is to have of an offer. */
final case class Allocation(offer: String, executorId: String, cpus: IdSet)

/**
 * What an application offers to others, what it would borrow and when it gives that back. Pure.
 *
 * A place is offered when it has had no tasks, and none have been pending, for [[LendingPolicy.LendPatience]]. CPUs are
 * borrowed while tasks have been pending for [[InternalLending.Patience]], for executors whose slots are all
 * taken, and for those that run more tasks than they have slots since an earlier loan has ended. They are given back when the lender wants them, when the executor has ended, and when the tasks
 * fit into its own slots again for [[InternalLending.Patience]].
 *
 * @param whole whether nothing is offered while any executor of the application has tasks
 * @param pending since when tasks have been
 * @param spare since when executors have needed no loan
 */
final case class LendingPolicy(
    whole: Boolean,
    idle: PlacementState.Idle = Map.empty,
    pending: Option[Long] = None,
    spare: Map[String, Long] = Map.empty
) {

  def next(now: LendingState): (LendingPolicy, LendingStep) = {
    val still = PlacementState.idleIn(now.placements, now.now, now.pending > 0, idle)
    val since = if (now.pending > 0) pending.orElse(Some(now.now)) else None
    val working = now.placements.flatMap(s => s.working.map(w => w.id -> (s, w))).toMap
    val fits = now.borrowed.map(_.executorId).distinct.filter(id => inItsOwn(now, working.get(id)))
    val unneeded = fits.map(id => id -> spare.getOrElse(id, now.now)).toMap
    val back = now.borrowed.filter(loan =>
      !loan.stands || !now.placements.exists(
        _.executor.exists(w => w.id == loan.executorId && w.registered)
      ) ||
        unneeded.get(loan.executorId).exists(now.now - _ >= InternalLending.Patience)
    )
    val waiting =
      if (since.exists(now.now - _ >= InternalLending.Patience)) now.pending * now.slotsPerTask
      else 0.0
    val demands = for {
      placement <- now.placements if !now.barrier
      executor <- placement.working
      over = beyond(now, placement, executor)
      if over > 0 || (waiting > 0 && over + now.slotsPerTask > 0)
    } yield (placement, Demand(executor.id, placement.nodes), math.max(0.0, over))
    val offer =
      if (whole && working.nonEmpty) Set.empty[Int]
      else
        LendingPolicy.apart(
          now.placements,
          still.collect {
            case (place, (_, t)) if now.now - t >= LendingPolicy.LendPatience => place
          }.toSet
        )
    val slots = waiting + demands.map(_._3).sum
    val cpus = demands.headOption.fold(0)(h => LendingPolicy.cpus(slots, h._1))
    val step = LendingStep(offer, back.map(_.id).toSet, demands.map(_._2), cpus)
    (LendingPolicy(whole, still, since, unneeded), step)
  }

  /** Whether its tasks need no slots but its own. */
  private def inItsOwn(now: LendingState, of: Option[(PlacementState, ExecutorLoad)]): Boolean =
    (now.pending == 0 || now.barrier) && of.forall { case (s, w) =>
      w.running * now.slotsPerTask <= s.slots
    }

  /** How many slots its tasks take beyond its own and those that it has borrowed; below 0, how many are free. */
  private def beyond(
      now: LendingState,
      placement: PlacementState,
      executor: ExecutorLoad
  ): Double = {
    val lent = now.borrowed.filter(_.executorId == executor.id).map(_.cpus).sum
    executor.running * now.slotsPerTask -
      (placement.slots + LendingPolicy.slots(lent, placement.slots, placement.cpus.size))
  }
}

object LendingPolicy {

  /** Shorter pauses are an application's own, as between two jobs. */
  val LendPatience: Long = TimeUnit.SECONDS.toNanos(1)

  /** Of places that have the same CPUs one, and that where all of them are idle: each CPU is offered once. */
  private def apart(placements: Vector[PlacementState], idle: Set[Int]): Set[Int] = placements
    .filter(one =>
      idle(one.place) && placements.forall(other =>
        other.place == one.place || !other.cpus.intersects(one.cpus) ||
          (idle(other.place) && other.place > one.place)
      )
    )
    .map(_.place)
    .toSet

  /** More slots than any machine has CPUs. */
  private val Max = 1 << 20

  /** For how many CPUs of its own a place has so many slots. */
  private def cpus(slots: Double, placement: PlacementState): Int =
    math.ceil(math.min(slots, Max.toDouble) * placement.cpus.size / placement.slots).toInt

  /** For how many tasks borrowed CPUs are: as many as the place has for as many CPUs of its own, one at least. */
  def slots(cpus: Int, ownSlots: Int, ownCpus: Int): Int =
    if (cpus == 0) 0 else math.max(1, cpus * ownSlots / ownCpus)

  /**
   * How many CPUs each may borrow so that every further task finds the memory that is planned for one of its executor's
   * own: of what nobody has leased, those on the same nodes have equal parts.
   *
   * @param lent how many CPUs an executor has borrowed already
   */
  def within(
      free: FreeMemory,
      demands: Vector[Demand],
      placements: Vector[PlacementState],
      lent: String => Int
  ): Vector[Borrower] = for {
    demand <- demands
    placement <- placements.find(_.executor.exists(_.id == demand.executorId))
    beside = demands.count(_.nodes.intersects(demand.nodes))
    bytes = free.each(demand.nodes, beside, demands.size)
    more =
      if (placement.slotBytes == 0) Max.toLong
      else math.min(Max.toLong, bytes / placement.slotBytes)
    has = lent(demand.executorId)
    max = maxCpus(slots(has, placement.slots, placement.cpus.size) + more, placement) - has
    if more > 0 && max > 0
  } yield Borrower(demand.executorId, demand.nodes, max)

  /** The most CPUs that are for so many tasks: the other way round than [[slots]]. */
  private def maxCpus(tasks: Long, placement: PlacementState): Int =
    (((tasks + 1) * placement.cpus.size - 1) / placement.slots).min(Max.toLong).toInt

  /**
   * Who takes which CPUs: those near to an executor's memory first, each the same number.
   *
   * @param cpus how many in all
   */
  def allocate(
      offers: Vector[FreeOffer],
      borrowers: Vector[Borrower],
      cpus: Int
  ): Vector[Allocation] = {
    val (near, far) = offers.partition(o => borrowers.exists(_.nodes == o.nodes))
    val order = (near ++ far).flatMap(o => o.cpus.iterator.map(o -> _))
    val taken = order
      .foldLeft(Vector.empty[(String, String, Int)]) { case (done, (offer, cpu)) =>
        def has(id: String) = done.count(_._2 == id)
        val open = borrowers.filter(b => done.sizeIs < cpus && has(b.executorId) < b.max)
        val beside = open.filter(_.nodes == offer.nodes)
        val who = (if (beside.isEmpty) open else beside).map(_.executorId)
        done ++ who.minByOption(id => (has(id), id)).map((offer.offer, _, cpu))
      }
    taken
      .groupMap { case (offer, id, _) => (offer, id) }(_._3)
      .toVector
      .map { case ((offer, id), ids) => Allocation(offer, id, IdSet.from(ids)) }
      .sortBy(allocate => (allocate.offer, allocate.executorId))
  }
}
