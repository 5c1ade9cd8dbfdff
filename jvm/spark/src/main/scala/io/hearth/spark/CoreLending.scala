package io.hearth.spark

import java.time.Instant
import java.util.concurrent.{RejectedExecutionException, ScheduledExecutorService, TimeUnit}

import scala.util.control.NonFatal

import io.hearth.core.placement.{Loan, LoanRecord}
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.IdSet

/**
 * What Spark's scheduler does at a moment.
 *
 * @param pending whether there are tasks that no executor runs yet
 * @param running how many tasks each executor that it knows runs
 */
final case class Activity(pending: Boolean, running: Map[String, Int])

/**
 * Carries out what [[HandOver]] decides: opens CPUs of idle places to executors that are short of them and
 * takes them back, in the log and in the run's record.
 *
 * @param running executors of the pool, one in each place at most
 * @param keep is given the record of all loans, anew after each change
 * @param clock owns what is known; it ends with the lending
 * @param nanoTime as of `System.nanoTime`
 */
final class CoreLending(
    appId: String,
    places: Vector[ExecutorPlan],
    running: () => Vector[Member],
    cores: Cores,
    keep: LoanRecord => Unit,
    clock: ScheduledExecutorService,
    nanoTime: () => Long,
    now: () => Instant,
    log: Log
) {
  import CoreLending._

  // Owned by the clock's thread; close() takes over after that has ended.
  private var known = HandOver()
  private var record = LoanRecord.empty(appId)
  private var strays = Map.empty[String, Map[Int, IdSet]]
  private var refused = Set.empty[String]
  private var settling = Map.empty[String, Settling]
  private var failed = false
  private var askNext = nanoTime()

  // Written by the clock's thread, read by any.
  @volatile private var lent = Vector.empty[Open]
  @volatile private var activity: () => Activity = () => NothingKnown

  /** @param scheduler what Spark's scheduler does now */
  def start(scheduler: () => Activity): Unit = {
    activity = scheduler
    log.info(
      "CPUs of executors that have nothing to do are opened to those that are short of CPUs " +
        "(spark.hearth.handOver=tail)"
    )
    clock.scheduleWithFixedDelay(() => careful(), TickMillis, TickMillis, TimeUnit.MILLISECONDS)
    ()
  }

  /** Tasks may have come: what is lent is looked at now. Called by any thread. */
  def wake(): Unit = if (lent.exists(_.ended.isEmpty))
    try clock.execute(() => careful())
    catch { case _: RejectedExecutionException => () } // it has been closed

  /** CPUs of other places that an executor may use, or could at any time since then (`System.nanoTime`). */
  def lentTo(executorId: String, since: Long): IdSet = IdSet.union(
    lent
      .filter(o => o.loan.executorId == executorId && o.ended.forall(_ - since >= 0))
      .map(_.loan.cpus)
  )

  /** Takes everything back. */
  def close(): Unit = {
    clock.shutdown()
    clock.awaitTermination(CloseSeconds, TimeUnit.SECONDS)
    activity = () => NothingKnown
    careful()
  }

  /** What fails is logged, once; the next tick runs as usual. */
  private def careful(): Unit =
    try tick()
    catch {
      case NonFatal(e) =>
        if (!failed) log.fault("Idle CPUs could not be handed over", e)
        failed = true
    }

  private def tick(): Unit = {
    settle()
    val doing = activity()
    val (next, shifts) = known.next(asking(seats(doing, None)).fold(seats(doing, None)) { ids =>
      val start = nanoTime()
      val waited = cores.waited(running().filter(m => ids(m.id)))
      val end = nanoTime()
      askNext = end + math.max(HandOver.Patience, AskPause * (end - start))
      seats(doing, Some(waited))
    })
    known = next
    shifts.foreach(carryOut)
  }

  /** Whose threads are to be looked at now; that takes the longer, the more there are. */
  private def asking(now: SeatsNow): Option[Set[String]] =
    Option.when(nanoTime() - askNext >= 0)(known.asks(now)).filter(_.nonEmpty)

  /** Places of executors that are not bound have no CPUs to give, and need none. */
  private def seats(doing: Activity, waited: Option[Map[String, Long]]): SeatsNow = {
    val members = running()
    val seats = for {
      place <- places
      member = members.find(_.place.id == place.id)
      if member.forall(m => m.bound && !refused(m.id))
    } yield Seat(
      place.id,
      place.cpus,
      place.memoryNodes,
      member.map { m =>
        val tasks = doing.running.get(m.id)
        Worker(m.id, tasks.nonEmpty, tasks.getOrElse(0), waited.flatMap(_.get(m.id)))
      }
    )
    SeatsNow(nanoTime(), doing.pending, seats, waited.nonEmpty)
  }

  /** What a thread was just making when the masks were changed has those of before. */
  private def settle(): Unit = if (settling.nonEmpty) {
    settling = settling.filter { case (_, s) => s.end - nanoTime() > 0 }
    running().foreach(m => settling.get(m.id).foreach(s => cores.settle(m, s.change)))
  }

  private def carryOut(shift: Shift): Unit = {
    val old = lent.find(o => o.loan.executorId == shift.executorId && o.ended.isEmpty)
    running().find(_.id == shift.executorId) match {
      case None => old.foreach(ends(_, ", which has ended,"))
      case Some(member) =>
        if (old.isEmpty) strays += member.id -> strayed(member)
        val begun = Option.when(shift.after.cpus.nonEmpty)(begins(member, shift.after))
        val problem = change(member, shift)
        old.foreach(ends(_, ""))
        problem.foreach(why =>
          log.warn(s"The CPUs of executor ${member.id} are not as wanted: $why")
        )
        for (loan <- begun if problem.nonEmpty) giveUp(member, shift, loan)
    }
  }

  private def change(member: Member, shift: Shift): Option[String] = {
    val own = member.place.cpus
    val change = MaskChange(
      own,
      own | shift.before.cpus,
      own | shift.after.cpus,
      strays.getOrElse(member.id, Map.empty)
    )
    settling += member.id -> Settling(change, nanoTime() + SettleNanos)
    cores.change(member, change)
  }

  /** The kernel lets this one have no other CPUs: it is not tried again. */
  private def giveUp(member: Member, shift: Shift, loan: Open): Unit = {
    refused += member.id
    known = known.without(member.id)
    change(member, Shift(member.id, shift.after, Lent.nothing))
    ends(loan, "")
  }

  /** Threads that the application has bound elsewhere itself. */
  private def strayed(member: Member): Map[Int, IdSet] =
    cores.masks(member).filterNot { case (_, mask) => mask.subsetOf(member.place.cpus) }

  /** Known before it is so, so that nobody takes it for drift. */
  private def begins(member: Member, to: Lent): Open = {
    val loan = Loan(member.id, member.place.id, to.cpus, to.places, now(), None)
    val open = Open(loan, nanoTime(), None)
    lent = lent.filter(_.ended.forall(nanoTime() - _ < ForgetNanos)) :+ open
    record = record.updated(loan)
    keep(record)
    log.info(
      s"Executor ${member.id} may use CPUs ${to.cpus} too, as ${named(to.places)} nothing to do"
    )
    open
  }

  private def ends(open: Open, because: String): Unit = {
    val end = nanoTime()
    lent = lent.map(o => if (o eq open) o.copy(ended = Some(end)) else o)
    record = record.updated(open.loan.copy(until = Some(now())))
    keep(record)
    val seconds = (end - open.began) / 1e9
    log.info(
      f"CPUs ${open.loan.cpus} are back from executor ${open.loan.executorId}$because after $seconds%.1f s"
    )
  }
}

object CoreLending {
  private val TickMillis = 100L

  /** To count takes at most this part of one CPU. */
  private val AskPause = 20L
  private val CloseSeconds = 10L

  /** How long threads may take to appear that were being made while masks were changed. */
  private val SettleNanos = TimeUnit.SECONDS.toNanos(1)

  /** Longer than any reading of placement takes. */
  private val ForgetNanos = TimeUnit.MINUTES.toNanos(5)

  /** Nobody is known to have a task, and nobody is idle. */
  private val NothingKnown = Activity(pending = true, Map.empty)

  /** A loan, and when it began and ended by `System.nanoTime`. */
  final private case class Open(loan: Loan, began: Long, ended: Option[Long])

  final private case class Settling(change: MaskChange, end: Long)

  private def named(places: Vector[Int]): String =
    if (places.sizeIs == 1) s"place ${places.head} has"
    else s"places ${IdSet.from(places)} have"
}
