package io.hearth.lending

import java.time.Instant
import java.util.concurrent.{RejectedExecutionException, ScheduledExecutorService, TimeUnit}

import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.IdSet
import io.hearth.driver.{Activity, Lending, Log, RunningExecutor, Unattended}

/**
 * Looks at an application every 100 ms and opens CPUs of idle places to its executors that are short of them, as
 * [[InternalLending]] decides.
 *
 * @param running executors of the pool, one in each place at most
 * @param loans are its own to change
 * @param clock owns what is known; it ends with the lending
 * @param nanoTime as of `System.nanoTime`
 */
final class CoreLending(
    places: Vector[ExecutorPlan],
    running: () => Vector[RunningExecutor],
    masks: ThreadMaskWriter,
    loans: OpenGrants,
    clock: ScheduledExecutorService,
    nanoTime: () => Long,
    log: Log
) extends Lending {
  import CoreLending._

  // Owned by the clock's thread; close() takes over after that has ended.
  private var known = InternalLending()
  private var refused = Set.empty[String]
  private var askNext = nanoTime()

  private val unattended = new Unattended("Idle CPUs could not be handed over", log)

  // Written when it starts and ends, read by the clock's thread.
  @volatile private var activity: () => Activity = () => NothingKnown

  override def start(scheduler: () => Activity): Unit = {
    activity = scheduler
    log.info("CPUs of idle executors are opened to those that are short of CPUs")
    clock.scheduleWithFixedDelay(() => careful(), TickMillis, TickMillis, TimeUnit.MILLISECONDS)
    ()
  }

  override def wake(): Unit = if (loans.any)
    try clock.execute(() => careful())
    catch { case _: RejectedExecutionException => () } // it has been closed

  override def lentTo(executorId: String, since: Long): IdSet = loans.lentTo(executorId, since)

  override def close(): Unit = {
    clock.shutdown()
    clock.awaitTermination(CloseSeconds, TimeUnit.SECONDS)
    activity = () => NothingKnown
    careful()
  }

  private def careful(): Unit = unattended(tick())

  private def tick(): Unit = {
    loans.settle()
    val doing = activity()
    val executors = running()
    val now = placements(executors, doing)
    val state = InternalLendingState(nanoTime(), doing.pending, now, waitsRead = false)
    val (next, shifts) = known.next(asking(state).fold(state) { ids =>
      val start = nanoTime()
      val waited = masks.waited(executors.filter(m => ids(m.id)))
      val end = nanoTime()
      askNext = end + math.max(InternalLending.Patience, AskPause * (end - start))
      val counted =
        now.map(p => p.copy(executor = p.executor.map(e => e.copy(waited = waited.get(e.id)))))
      InternalLendingState(end, state.pending, counted, waitsRead = true)
    })
    known = next
    shifts.foreach(carryOut)
  }

  /** Whose threads are to be looked at now; that takes the longer, the more there are. */
  private def asking(now: InternalLendingState): Option[Set[String]] =
    Option.when(nanoTime() - askNext >= 0)(known.asks(now)).filter(_.nonEmpty)

  /** Places of executors that are not bound have no CPUs to give, and need none. */
  private def placements(
      executors: Vector[RunningExecutor],
      doing: Activity
  ): Vector[PlacementState] = for {
    place <- places
    executor = executors.find(_.place.id == place.id)
    if executor.forall(m => m.bound && !refused(m.id))
  } yield PlacementState(
    place.id,
    place.cpus,
    place.memoryNodes,
    executor.map { m =>
      val tasks = doing.running.get(m.id)
      ExecutorLoad(m.id, tasks.nonEmpty, tasks.getOrElse(0))
    }
  )

  /** The kernel may let this one have no other CPUs: it is not tried again. */
  private def carryOut(shift: GrantChange): Unit = {
    val id = shift.executorId
    val place = running().find(_.id == id).map(_.place.id)
    val begin = place.filter(_ => shift.after.cpus.nonEmpty).map { of =>
      Grant(id, of, shift.after.cpus, shift.after.places, Instant.EPOCH, None)
    }
    if (!loans.change(id, begin)) {
      refused += id
      known = known.without(id)
    }
  }
}

object CoreLending {
  private val TickMillis = 100L

  /** To count takes at most this part of one CPU. */
  private val AskPause = 20L
  private val CloseSeconds = 10L

  /** Nobody is known to have a task, and nobody is idle. */
  private val NothingKnown = Activity(pending = true, Map.empty)
}
