package io.hearth.driver

import java.util.concurrent.{CompletableFuture, ConcurrentHashMap}
import java.util.concurrent.{ScheduledExecutorService, ScheduledFuture, TimeUnit}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import io.hearth.core.launch.Binding
import io.hearth.core.plan.ExecutorPlan

/**
 * An executor that runs in a place of the plan.
 *
 * @param startTicks field 22 of `/proc/PID/stat`
 * @param binding to what it is bound: the CPUs of its place, and memory nodes where its memory is bound too
 */
final case class RunningExecutor(
    id: String,
    place: ExecutorPlan,
    process: Process,
    startTicks: Long,
    binding: Option[Binding]
) {
  def bound: Boolean = binding.nonEmpty
  def memoryBound: Boolean = binding.exists(_.memoryNodes.nonEmpty)
}

/** What the pool tells its owner; called on the pool's one thread. */
trait PoolListener {

  /** @param asked whether the pool had been asked to end it */
  def exited(executor: RunningExecutor, code: Int, asked: Boolean): Unit

  /** An executor could not be started at all, after the first ones were; it is tried again so many seconds later. */
  def notStarted(place: ExecutorPlan, cause: Throwable, againInSeconds: Long): Unit
}

/**
 * What is decided from: who holds which place, how many are wanted.
 *
 * @param resting places that stay free for now
 */
final case class PoolSnapshot(
    places: Vector[ExecutorPlan],
    held: Set[Int],
    resting: Set[Int],
    target: Int,
    stopping: Boolean
) {

  /**
   * Places to fill now. The host with the fewest executors comes first, so that few executors are spread
   * over all nodes; a lost executor's place, being the free one of a full plan, is filled again.
   */
  def toFill: Vector[ExecutorPlan] = {
    val wanted = if (stopping) 0 else math.min(target, places.size) - held.size
    fill(wanted, held, Vector.empty)
  }

  private def fill(n: Int, taken: Set[Int], chosen: Vector[ExecutorPlan]): Vector[ExecutorPlan] = {
    val onHost = places.filter(p => taken.contains(p.id)).groupMapReduce(_.host)(_ => 1)(_ + _)
    val free = places.filterNot(p => taken.contains(p.id) || resting.contains(p.id))
    free.minByOption(p => (onHost.getOrElse(p.host, 0), p.id)) match {
      case Some(next) if n > 0 => fill(n - 1, taken + next.id, chosen :+ next)
      case _ => chosen
    }
  }
}

/**
 * Keeps as many executors running as are wanted, each in a place of the plan. One thread owns the state
 * and starts the processes; every method hands it work. A place whose executors end soon, or cannot be
 * started, rests before it is filled again ([[RestartPause]]).
 *
 * @param startIn starts an executor with a new id in a place
 * @param owner the one thread, which ends with the pool
 * @param nowMs a clock that only goes forward
 * @param log is told what the listener throws
 */
final class ExecutorPool(
    places: Vector[ExecutorPlan],
    startIn: (String, ExecutorPlan) => RunningExecutor,
    owner: ScheduledExecutorService,
    nowMs: () => Long,
    log: Log
) {
  import ExecutorPool._

  private val unattended = new Unattended("The loss or end of executors could not be handled", log)

  // Read by any thread, written by the owner.
  private val executors = new ConcurrentHashMap[String, RunningExecutor]()
  private val ended = ConcurrentHashMap.newKeySet[String]()
  private val asked = ConcurrentHashMap.newKeySet[String]()

  // Set once, by any thread, and in force at once: even for the loss that is being dealt with.
  @volatile private var noMore = false

  // Read by any thread, written by the owner.
  @volatile private var target = 0

  // Owned by the owner thread.
  private var listener = Option.empty[PoolListener]
  private var nextId = 0
  private var closing = false
  private var closingSteps = Vector.empty[ScheduledFuture[_]]
  private var startedAt = Map.empty[String, Long]
  private var pauses = Map.empty[Int, RestartPause].withDefaultValue(RestartPause(AtOnce))
  private var resting = Map.empty[Int, ScheduledFuture[_]] // and what ends it
  private val closed = new CompletableFuture[Unit]()

  /** Where executors run or are about to: a lost one whose successor is not there yet counts. */
  def expected: Vector[ExecutorPlan] = {
    val held = running.map(_.place)
    held ++ PoolSnapshot(places, held.map(_.id).toSet, Set.empty, target, noMore).toFill
  }

  def running: Vector[RunningExecutor] = executors.values.asScala.toVector.sortBy(_.place.id)

  /** Whether an executor was here and its process is gone: what it still sends comes too late. */
  def hasEnded(executorId: String): Boolean = ended.contains(executorId)

  /**
   * Starts as many executors as there are places for; until then none is started.
   *
   * @return fails with the reason where one cannot be started, or where the pool is stopped meanwhile
   */
  def start(executors: Int, to: PoolListener): CompletableFuture[Unit] = {
    val done = new CompletableFuture[Unit]()
    def failed(cause: Throwable): Unit = {
      done.completeExceptionally(cause)
      ()
    }
    if (owner.isShutdown) failed(new IllegalStateException(StoppedEarly))
    try
      submit {
        listener = Some(to)
        target = executors
        fill() match {
          case Some(failure) => failed(failure.cause)
          case None if noMore => failed(new IllegalStateException(StoppedEarly))
          case None => done.complete(())
        }
        ()
      }
    catch { case e: Throwable => failed(e) } // as where the thread cannot be made
    done
  }

  /** Spark ends executors by their ids: a lower target ends none, but fills no place either. */
  def setTarget(executors: Int): Unit = submit {
    target = executors
    refill()
  }

  /** Starts none any more, for lost ones neither. */
  def startNoMore(): Unit = noMore = true

  /** Ends executors: SIGTERM, and SIGKILL to those that are there `graceSeconds` later. */
  def end(ids: Seq[String], graceSeconds: Long): Unit = submit {
    expectExit(ids)
    executors(ids).foreach(_.process.destroy())
    later(graceSeconds)(executors(ids).foreach(_.process.destroyForcibly()))
    ()
  }

  /** Says that executors will end by themselves, so that their exit is not a failure. */
  def expectExit(ids: Seq[String]): Unit = asked.addAll(ids.asJava)

  /**
   * Starts no more executors, waits for those that were asked to stop, ends the rest.
   *
   * @param graceSeconds how long an executor may take to end by itself
   * @return done when all have ended, or no signal has helped
   */
  def stop(graceSeconds: Long): CompletableFuture[Unit] = {
    startNoMore()
    submit {
      expectExit(running.map(_.id))
      closing = true
      if (executors.isEmpty) close()
      else {
        val (term, kill) = (graceSeconds, graceSeconds + TermSeconds)
        closingSteps = Vector(
          later(term)(running.foreach(_.process.destroy())),
          later(kill)(running.foreach(_.process.destroyForcibly())),
          later(kill + KillSeconds)(close())
        )
      }
    }
    closed
  }

  private def close(): Unit = {
    (closingSteps ++ resting.values).foreach(_.cancel(false))
    owner.shutdown()
    closed.complete(())
    ()
  }

  private def executors(ids: Seq[String]): Seq[RunningExecutor] =
    ids.flatMap(id => Option(executors.get(id)))

  private def submit(work: => Unit): Unit =
    if (!owner.isShutdown) owner.execute(() => unattended(work))

  private def later(seconds: Long)(work: => Unit): ScheduledFuture[_] =
    owner.schedule((() => unattended(work)): Runnable, seconds, TimeUnit.SECONDS)

  /** One at a time: a stop that comes meanwhile is in force before the next. */
  @tailrec private def fill(): Option[NotStarted] = {
    val held = running.map(_.place.id).toSet
    val stopping = noMore || listener.isEmpty
    PoolSnapshot(places, held, resting.keySet, target, stopping).toFill.headOption match {
      case None => None
      case Some(place) =>
        startOne(place) match {
          case None => fill()
          case failure => failure
        }
    }
  }

  private def startOne(place: ExecutorPlan): Option[NotStarted] =
    try {
      val id = nextId.toString
      nextId += 1
      val executor = startIn(id, place)
      executors.put(id, executor)
      startedAt += id -> nowMs()
      watch(executor)
      None
    } catch {
      case e: Throwable => Some(NotStarted(place, e)) // whatever it is: somebody waits for it
    }

  private def watch(executor: RunningExecutor): Unit =
    try {
      // Where this JVM can make no thread to tell it, it comes with that fault.
      executor.process.onExit().whenComplete { (ended, fault) =>
        val process = if (fault == null) ended else executor.process
        submit(exited(executor, process.waitFor()))
      }
      ()
    } catch {
      case e: Throwable => // one whose end nobody hears of would keep its place for ever
        executors.remove(executor.id)
        startedAt -= executor.id
        ended.add(executor.id)
        executor.process.destroyForcibly()
        throw e
    }

  @tailrec private def refill(): Unit = fill() match {
    case None =>
    case Some(failure) =>
      val pause = pauses(failure.place.id).afterFailedStart
      rest(failure.place, pause)
      listener.foreach(_.notStarted(failure.place, failure.cause, pause.seconds))
      refill()
  }

  private def rest(place: ExecutorPlan, pause: RestartPause): Unit = {
    pauses += place.id -> pause
    if (pause.seconds > 0)
      resting += place.id -> later(pause.seconds) {
        resting -= place.id
        refill()
      }
  }

  private def exited(executor: RunningExecutor, code: Int): Unit = {
    executors.remove(executor.id)
    ended.add(executor.id)
    val ranMs = nowMs() - startedAt(executor.id)
    startedAt -= executor.id
    val wasAsked = asked.remove(executor.id)
    if (!closing && !wasAsked) rest(executor.place, pauses(executor.place.id).afterLife(ranMs))
    try listener.foreach(_.exited(executor, code, wasAsked))
    finally if (closing && executors.isEmpty) close() else refill()
  }
}

object ExecutorPool {

  /** As many short lives as end an application where nothing else runs (`spark.deploy.maxExecutorRetries`). */
  private val AtOnce = 10

  /** From SIGTERM to SIGKILL, and from there until the pool no longer waits. */
  private val TermSeconds = 2L
  private val KillSeconds = 5L

  private val StoppedEarly = "the application was stopped while its executors were being started"

  final private case class NotStarted(place: ExecutorPlan, cause: Throwable)
}
