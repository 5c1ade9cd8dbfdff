package io.hearth.spark

import java.util.concurrent.TimeUnit

import io.hearth.core.topology.IdSet

/**
 * CPUs of another application that an executor of this one has.
 *
 * @param id of the loan
 * @param cpus how many
 * @param stands whether the lender still does without them, and lives
 */
final case class Borrowed(id: String, executorId: String, cpus: Int, stands: Boolean)

/**
 * What is decided from.
 *
 * @param now of `System.nanoTime`
 * @param pending how many tasks no executor runs yet
 * @param barrier whether tasks of a barrier stage are among them or run: these get no borrowed slots
 * @param slotsPerTask that a task takes
 */
final case class TradeNow(
    now: Long,
    pending: Int,
    barrier: Boolean,
    slotsPerTask: Double,
    seats: Vector[Seat],
    borrowed: Vector[Borrowed]
)

/** An executor all of whose slots have tasks, while others are pending, or that runs more tasks than that. */
final case class Hungry(executorId: String, nodes: IdSet)

/**
 * What is to be done.
 *
 * @param offer places whose CPUs are others' to use; of all other places they are not
 * @param back loans that end
 * @param hungry who could do with more CPUs
 * @param cpus how many of them, in all
 */
final case class TradeStep(offer: Set[Int], back: Set[String], hungry: Vector[Hungry], cpus: Int)

/** CPUs that another application leaves to others, and the memory nodes that are near to them. */
final case class Offered(offer: String, cpus: IdSet, nodes: IdSet)

/** What an executor is to have of an offer. */
final case class Share(offer: String, executorId: String, cpus: IdSet)

/**
 * What an application offers to others, what it would borrow and when it gives that back. Pure.
 *
 * A place is offered when it has had no tasks, and none have been pending, for [[Trade.LendPatience]]. CPUs are
 * borrowed while tasks have been pending for [[HandOver.Patience]], for executors whose slots are all
 * taken, and for those that run more tasks than they have slots since an earlier loan has ended. They are given back when the lender wants them, when the executor has ended, and when the tasks
 * fit into its own slots again for [[HandOver.Patience]].
 *
 * @param whole whether nothing is offered while any executor of the application has tasks
 * @param pending since when tasks have been
 * @param spare since when executors have needed no loan
 */
final case class Trade(
    whole: Boolean,
    idle: Seat.Idle = Map.empty,
    pending: Option[Long] = None,
    spare: Map[String, Long] = Map.empty
) {

  def next(now: TradeNow): (Trade, TradeStep) = {
    val still = Seat.idleIn(now.seats, now.now, now.pending > 0, idle)
    val since = if (now.pending > 0) pending.orElse(Some(now.now)) else None
    val working = now.seats.flatMap(s => s.working.map(w => w.id -> (s, w))).toMap
    val fits = now.borrowed.map(_.executorId).distinct.filter(id => inItsOwn(now, working.get(id)))
    val unneeded = fits.map(id => id -> spare.getOrElse(id, now.now)).toMap
    val back = now.borrowed.filter(loan =>
      !loan.stands || !now.seats.exists(
        _.worker.exists(w => w.id == loan.executorId && w.registered)
      ) ||
        unneeded.get(loan.executorId).exists(now.now - _ >= HandOver.Patience)
    )
    val waiting =
      if (since.exists(now.now - _ >= HandOver.Patience)) now.pending * now.slotsPerTask else 0.0
    val hungry = for {
      seat <- now.seats if !now.barrier
      worker <- seat.working
      over = beyond(now, seat, worker)
      if over > 0 || (waiting > 0 && over + now.slotsPerTask > 0)
    } yield (seat, Hungry(worker.id, seat.nodes), math.max(0.0, over))
    val offer =
      if (whole && working.nonEmpty) Set.empty[Int]
      else
        Trade.apart(
          now.seats,
          still.collect { case (place, (_, t)) if now.now - t >= Trade.LendPatience => place }.toSet
        )
    val slots = waiting + hungry.map(_._3).sum
    val cpus = hungry.headOption.fold(0)(h => Trade.cpus(slots, h._1))
    val step = TradeStep(offer, back.map(_.id).toSet, hungry.map(_._2), cpus)
    (Trade(whole, still, since, unneeded), step)
  }

  /** Whether its tasks need no slots but its own. */
  private def inItsOwn(now: TradeNow, of: Option[(Seat, Worker)]): Boolean =
    (now.pending == 0 || now.barrier) && of.forall { case (s, w) =>
      w.running * now.slotsPerTask <= s.slots
    }

  /** How many slots its tasks take beyond its own and those that it has borrowed; below 0, how many are free. */
  private def beyond(now: TradeNow, seat: Seat, worker: Worker): Double = {
    val lent = now.borrowed.filter(_.executorId == worker.id).map(_.cpus).sum
    worker.running * now.slotsPerTask -
      (seat.slots + Trade.slots(lent, seat.slots, seat.cpus.size))
  }
}

object Trade {

  /** Shorter pauses are an application's own, as between two jobs. */
  val LendPatience: Long = TimeUnit.SECONDS.toNanos(1)

  /** Of places that have the same CPUs one, and that where all of them are idle: each CPU is offered once. */
  private def apart(seats: Vector[Seat], idle: Set[Int]): Set[Int] = seats
    .filter(one =>
      idle(one.place) && seats.forall(other =>
        other.place == one.place || !other.cpus.intersects(one.cpus) ||
          (idle(other.place) && other.place > one.place)
      )
    )
    .map(_.place)
    .toSet

  /** More slots than any machine has CPUs. */
  private val Most = 1 << 20

  /** For how many CPUs of its own a place has so many slots. */
  private def cpus(slots: Double, seat: Seat): Int =
    math.ceil(math.min(slots, Most.toDouble) * seat.cpus.size / seat.slots).toInt

  /** For how many tasks borrowed CPUs are: as many as the place has for as many CPUs of its own, one at least. */
  def slots(cpus: Int, ownSlots: Int, ownCpus: Int): Int =
    if (cpus == 0) 0 else math.max(1, cpus * ownSlots / ownCpus)

  /**
   * Who takes which CPUs: those near to an executor's memory first, each the same number.
   *
   * @param cpus how many in all
   */
  def share(offers: Vector[Offered], hungry: Vector[Hungry], cpus: Int): Vector[Share] = {
    val (near, far) = offers.partition(o => hungry.exists(_.nodes == o.nodes))
    val order = (near ++ far).flatMap(o => o.cpus.iterator.map(o -> _))
    val taken = order
      .take(if (hungry.isEmpty) 0 else cpus)
      .foldLeft(Vector.empty[(String, String, Int)]) { case (done, (offer, cpu)) =>
        val beside = hungry.filter(_.nodes == offer.nodes)
        val who = (if (beside.isEmpty) hungry else beside).map(_.executorId)
        done :+ ((offer.offer, who.minBy(id => (done.count(_._2 == id), id)), cpu))
      }
    taken
      .groupMap { case (offer, id, _) => (offer, id) }(_._3)
      .toVector
      .map { case ((offer, id), ids) => Share(offer, id, IdSet.from(ids)) }
      .sortBy(share => (share.offer, share.executorId))
  }
}
