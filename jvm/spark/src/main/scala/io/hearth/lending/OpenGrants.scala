package io.hearth.lending

import java.time.Instant
import java.util.concurrent.TimeUnit

import io.hearth.core.topology.IdSet
import io.hearth.driver.{Log, RunningExecutor}

/** A loan, and when it began and ended by `System.nanoTime`. */
final case class OpenGrant(loan: Grant, began: Long, ended: Option[Long])

/**
 * CPUs beyond their own that executors have: in their masks, the log and the run's record. One thread owns
 * it; [[lentTo]] is for all.
 *
 * @param running executors of the pool, one in each place at most
 * @param keep is given the record of all loans, anew after each change
 * @param nanoTime as of `System.nanoTime`
 */
final class OpenGrants(
    appId: String,
    running: () => Vector[RunningExecutor],
    masks: ThreadMaskWriter,
    keep: HandOverRecord => Unit,
    nanoTime: () => Long,
    now: () => Instant,
    log: Log
) {
  import OpenGrants._

  private var record = HandOverRecord.empty(appId)
  private var strays = Map.empty[String, Map[Int, IdSet]]
  private var settling = Map.empty[String, Settling]
  @volatile private var lent = Vector.empty[OpenGrant]

  def any: Boolean = lent.exists(_.ended.isEmpty)

  /** CPUs beyond its own that an executor may use, or could at any time since then (`System.nanoTime`). */
  def lentTo(executorId: String, since: Long): IdSet = IdSet.union(
    lent
      .filter(o => o.loan.executorId == executorId && o.ended.forall(_ - since >= 0))
      .map(_.loan.cpus)
  )

  /**
   * Ends the loan of an executor and begins another, in one change of its masks.
   *
   * @param next the time from which on it is is set here
   * @return whether the kernel let it begin
   */
  def change(executorId: String, next: Option[Grant]): Boolean = {
    val before = lent.find(o => o.loan.executorId == executorId && o.ended.isEmpty)
    running().find(_.id == executorId) match {
      case None =>
        before.foreach(ends(_, ", which has ended,"))
        true
      case Some(executor) =>
        if (before.isEmpty) strays += executor.id -> strayed(executor)
        val begun = next.map(begins)
        val problem = set(executor, before, begun)
        before.foreach(ends(_, ""))
        problem.foreach(why =>
          log.warn(s"The CPUs of executor ${executor.id} could not be changed: $why")
        )
        if (problem.nonEmpty) begun.foreach { open =>
          set(executor, begun, None)
          ends(open, "")
        }
        problem.isEmpty || begun.isEmpty
    }
  }

  /**
   * What a thread was just making when the masks were changed has those of before; what the kernel has
   * refused is asked for again, until it is done.
   */
  def settle(): Unit = if (settling.nonEmpty) {
    val executors = running().map(m => m.id -> m).toMap
    settling = settling.flatMap { case (id, s) =>
      executors.get(id).flatMap(settled(_, s)).map(id -> _)
    }
  }

  /** Absent where all has been done. */
  private def settled(executor: RunningExecutor, s: Settling): Option[Settling] =
    if (s.refused && nanoTime() - s.next >= 0) {
      val done = masks.change(executor, s.change).isEmpty
      if (done) log.info(s"The CPUs of executor ${executor.id} could now be changed")
      Some(Settling(s.change, nanoTime() + SettleNanos, nanoTime() + RetryNanos, !done))
    } else if (s.refused) Some(s)
    else if (s.end - nanoTime() <= 0) None
    else {
      masks.settle(executor, s.change)
      Some(s)
    }

  private def set(
      executor: RunningExecutor,
      before: Option[OpenGrant],
      after: Option[OpenGrant]
  ): Option[String] = {
    val placeCpus = executor.place.cpus
    def all(loan: Option[OpenGrant]) = loan.fold(placeCpus)(_.loan.cpus | placeCpus)
    val change =
      MaskChange(placeCpus, all(before), all(after), strays.getOrElse(executor.id, Map.empty))
    val since = settling.get(executor.id).fold(change.before)(_.change.before | change.before)
    val still = Settling(
      change.copy(before = since),
      nanoTime() + SettleNanos,
      nanoTime() + RetryNanos,
      refused = true
    )
    settling += executor.id -> still
    val problem = masks.change(executor, change)
    settling += executor.id -> still.copy(refused = problem.nonEmpty)
    problem
  }

  /** Threads that the application has bound elsewhere itself. */
  private def strayed(executor: RunningExecutor): Map[Int, IdSet] =
    masks.masks(executor).filterNot { case (_, mask) => mask.subsetOf(executor.place.cpus) }

  /** Known before it is so, so that nobody takes it for drift. */
  private def begins(wanted: Grant): OpenGrant = {
    val loan = wanted.copy(since = now(), until = None)
    val open = OpenGrant(loan, nanoTime(), None)
    lent = lent.filter(_.ended.forall(nanoTime() - _ < ForgetNanos)) :+ open
    record = record.updated(loan)
    keep(record)
    log.info(
      s"Executor ${loan.executorId} may use CPUs ${loan.cpus} too, as ${named(loan.lenders)} nothing to do"
    )
    open
  }

  private def ends(open: OpenGrant, because: String): Unit = {
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

private object OpenGrants {

  /** How long threads may take to appear that were being made while masks were changed. */
  val SettleNanos: Long = TimeUnit.SECONDS.toNanos(1)

  /** From one attempt to the next to change masks that the kernel has refused. */
  val RetryNanos: Long = TimeUnit.SECONDS.toNanos(2)

  /** Longer than any reading of placement takes. */
  val ForgetNanos: Long = TimeUnit.MINUTES.toNanos(5)

  /**
   * @param end until when new threads are looked for
   * @param next when a refused change is tried again
   */
  final case class Settling(change: MaskChange, end: Long, next: Long, refused: Boolean)

  def named(places: Vector[Int]): String =
    if (places.sizeIs == 1) s"place ${places.head} has"
    else s"places ${IdSet.from(places)} have"
}
