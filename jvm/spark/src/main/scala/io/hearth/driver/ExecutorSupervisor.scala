package io.hearth.driver

import io.hearth.core.plan.ExecutorPlan

/** What Spark's scheduler is asked, and what it is made to do, about executors. */
trait SchedulerSide {

  /** Whether it still has an executor. */
  def knows(executorId: String): Boolean

  def removeEnded(executorId: String): Unit

  /** @param byApplication whether its tasks are to blame */
  def removeLost(executorId: String, code: Int, byApplication: Boolean, reason: String): Unit

  /** Ids of the tasks that run now. */
  def runningTasks: Set[Long]

  /** Ends the application; called once. */
  def giveUp(reason: String): Unit
}

/**
 * Carries out what [[Supervision]] decides.
 *
 * @param ended is told of an executor whose end Spark's scheduler knows
 * @param nowMs a clock that only goes forward
 */
final class ExecutorSupervisor(
    initial: Supervision,
    scheduler: SchedulerSide,
    pool: ExecutorPool,
    explain: (String, Int) => String,
    lastWords: String => String,
    archive: ArchiveWriting,
    ended: String => Unit,
    nowMs: () => Long,
    log: Log
) extends PoolListener {
  private var state = initial

  /** Called by Spark's listener bus. */
  def finishedTask(executorId: String): Unit = synchronized {
    state = state.finishedTask(executorId)
  }

  override def exited(executor: RunningExecutor, code: Int, asked: Boolean): Unit = {
    archive.exited(executor.id, code)
    val exit = ExecutorExit(
      executor.id,
      executor.place.id,
      executor.process.pid,
      code,
      asked,
      scheduler.knows(executor.id),
      explain(executor.id, code),
      if (asked) "" else lastWords(executor.id)
    )
    carryOut(decide(_.exited(exit, running, nowMs())))
    ended(executor.id)
  }

  override def notStarted(place: ExecutorPlan, cause: Throwable, againInSeconds: Long): Unit =
    carryOut(decide(_.notStarted(place, cause, againInSeconds, running, nowMs())))

  private def running: Set[String] = pool.running.map(_.id).toSet

  private def decide(
      step: Supervision => (Supervision, Vector[SupervisionAction])
  ): Vector[SupervisionAction] =
    synchronized {
      val (next, actions) = step(state)
      state = next
      actions
    }

  private def carryOut(actions: Vector[SupervisionAction]): Unit = actions.foreach {
    case SupervisionAction.LogInfo(sentence) => log.info(sentence)
    case SupervisionAction.LogError(sentence) => log.error(sentence)
    case SupervisionAction.RemoveEnded(id) => scheduler.removeEnded(id)
    case SupervisionAction.RemoveLost(id, code, byApplication, reason) =>
      scheduler.removeLost(id, code, byApplication, reason)
    case SupervisionAction.GiveUp(reason) =>
      log.error(s"The application ends: $reason")
      pool.startNoMore()
      scheduler.giveUp(reason)
  }
}
