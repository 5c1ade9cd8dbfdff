package io.hearth.workers

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import io.hearth.core.UserError
import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.{ExitStatus, Log, RestartPause, RunningExecutor, Unattended}

/**
 * What becomes of the Worker of a place.
 *
 * @param running absent while there is none
 * @param restarts how often one was started after the first
 * @param lastExit how the one before ended, in words
 */
final case class PlaceState(
    place: ExecutorPlan,
    running: Option[RunningExecutor],
    restarts: Int,
    lastExit: Option[String]
)

/**
 * Keeps one Worker running in each place until all are stopped: a dead one comes back in its place, after a
 * `RestartPause`.
 *
 * @param start starts a Worker, bound
 * @param changed is told the state of all places after each change
 * @param nowMs a clock that only goes forward
 */
final class Workers(
    places: Vector[ExecutorPlan],
    start: ExecutorPlan => RunningExecutor,
    changed: Vector[PlaceState] => Unit,
    log: Log,
    nowMs: () => Long
) {
  private val unattended = new Unattended("A worker could not be kept running", log)
  private var states = places.map(PlaceState(_, None, 0, None))
  private var stopping = false

  /** Start all, one after the other. @throws UserError where the first start of one is refused; none is left */
  def begin(): Unit =
    try places.foreach(startIn)
    catch { case e: Throwable => stop(0); throw e }

  /** Keep them running; returns when they have been stopped. */
  def keep(): Unit = {
    val threads = places.map { place =>
      val thread =
        new Thread(() => unattended(keep(place, RestartPause(atOnce = 0))), s"place-${place.id}")
      thread.setDaemon(true)
      thread.start()
      thread
    }
    threads.foreach(_.join())
  }

  /** Send each a SIGTERM, and those a SIGKILL that are there `graceSeconds` later, with their executors. */
  def stop(graceSeconds: Long): Unit = {
    val running = synchronized {
      stopping = true
      notifyAll()
      states.flatMap(_.running)
    }
    val families = running.map(worker => worker -> worker.process.toHandle.descendants.toList)
    running.foreach(_.process.destroy())
    val until = nowMs() + TimeUnit.SECONDS.toMillis(graceSeconds)
    families.foreach { case (worker, executors) =>
      val left = math.max(0L, until - nowMs())
      if (!worker.process.waitFor(left, TimeUnit.MILLISECONDS)) {
        log.warn(
          s"The worker of place ${worker.place.id} did not end within $graceSeconds s: killed"
        )
        val _ = worker.process.destroyForcibly()
      }
      executors.forEach { executor =>
        val _ = executor.destroyForcibly()
      }
    }
  }

  private def startIn(place: ExecutorPlan): Unit = synchronized {
    if (!stopping) change(place)(_.copy(running = Some(start(place))))
  }

  private def change(place: ExecutorPlan)(to: PlaceState => PlaceState): Unit = synchronized {
    states = states.map(state => if (state.place.id == place.id) to(state) else state)
    changed(states)
  }

  @tailrec
  private def keep(place: ExecutorPlan, before: RestartPause): Unit = {
    val since = nowMs()
    val ran = awaitExit(place)
    val pause = if (ran) before.afterLife(nowMs() - since) else before.afterFailedStart
    if (!stoppedWithin(TimeUnit.SECONDS.toMillis(pause.seconds))) {
      restart(place)
      keep(place, pause)
    }
  }

  /** @return whether there was one */
  private def awaitExit(place: ExecutorPlan): Boolean = {
    val running = synchronized(states.find(_.place.id == place.id).flatMap(_.running))
    running.foreach { worker =>
      val how = ExitStatus.explain(worker.process.waitFor())
      if (!synchronized(stopping))
        log.warn(s"The worker of place ${place.id}, process ${worker.process.pid}, is gone: $how")
      change(place)(_.copy(running = None, lastExit = Some(how)))
    }
    running.nonEmpty
  }

  /** @return whether they are being stopped, at most `ms` later */
  private def stoppedWithin(ms: Long): Boolean = synchronized {
    val until = nowMs() + ms
    while (!stopping && nowMs() < until) wait(math.max(1L, until - nowMs()))
    stopping
  }

  private def restart(place: ExecutorPlan): Unit =
    try {
      startIn(place)
      change(place)(state => state.copy(restarts = state.restarts + 1))
    } catch {
      case e: Throwable =>
        failed(place, e) // an Error too, such as no more threads: it is tried again
    }

  private def failed(place: ExecutorPlan, e: Throwable): Unit = {
    val why = e match {
      case expected @ (_: UserError | _: java.io.IOException) => expected.getMessage
      case other => other.toString
    }
    log.error(s"The worker of place ${place.id} could not be started: $why")
    change(place)(_.copy(lastExit = Some(s"not started: $why")))
  }
}
