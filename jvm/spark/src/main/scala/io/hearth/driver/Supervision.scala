package io.hearth.driver

import io.hearth.core.plan.ExecutorPlan

/**
 * How an executor's process ended.
 *
 * @param asked whether it had been asked to
 * @param registered whether Spark's scheduler still has the executor
 * @param explained its exit code, in words
 * @param lastWords of its log; empty where there are none
 */
final case class ExecutorExit(
    id: String,
    place: Int,
    pid: Long,
    code: Int,
    asked: Boolean,
    registered: Boolean,
    explained: String,
    lastWords: String
) {
  def what: String = s"executor $id (place $place, process $pid)"

  /** The explanation, what to do about it, and what the executor itself said last. */
  def quoted: String = {
    val remedy = ExitStatus.remedy(lastWords).fold("")(what => s"; $what")
    val words = if (lastWords.isEmpty) "" else s"; its last output:\n$lastWords"
    s"$explained$remedy$words"
  }
}

/** What is to be done about executors. */
sealed trait SupervisionAction

object SupervisionAction {
  final case class LogInfo(sentence: String) extends SupervisionAction
  final case class LogError(sentence: String) extends SupervisionAction

  /** It ended because it was asked to. */
  final case class RemoveEnded(executorId: String) extends SupervisionAction

  /** @param byApplication whether its tasks are to blame, and counted as failed */
  final case class RemoveLost(
      executorId: String,
      code: Int,
      byApplication: Boolean,
      reason: String
  ) extends SupervisionAction

  final case class GiveUp(reason: String) extends SupervisionAction
}

/**
 * What has become of an application's executors so far; decides what follows from the next thing that
 * happens to one. Pure.
 */
final case class Supervision(losses: LossHistory, givenUp: Boolean = false) {
  import SupervisionAction._

  def finishedTask(executorId: String): Supervision = copy(losses = losses.finishedTask(executorId))

  /** @param running ids of the executors that still run */
  def exited(
      exit: ExecutorExit,
      running: Set[String],
      nowMs: Long
  ): (Supervision, Vector[SupervisionAction]) =
    if (exit.asked) (this, ended(exit))
    else {
      val counted = copy(losses = losses.lost(exit.id, nowMs))
      val why = counted.losses
        .exhausted(running)
        .map(reason => s"$reason; the last was ${exit.what}: ${exit.quoted}")
      val (next, end) = counted.giveUp(why)
      (next, Vector(LogError(s"Lost ${exit.what}: ${exit.quoted}"), lost(exit)) ++ end)
    }

  /** It counts as a loss. @param running as of [[exited]] */
  def notStarted(
      place: ExecutorPlan,
      cause: Throwable,
      againInSeconds: Long,
      running: Set[String],
      nowMs: Long
  ): (Supervision, Vector[SupervisionAction]) = {
    val what = s"the executor of place ${place.id} could not be started: ${cause.getMessage}"
    val counted = copy(losses = losses.notStarted(nowMs))
    counted.giveUp(counted.losses.exhausted(running).map(reason => s"$reason; $what")) match {
      case (next, Vector()) =>
        (next, Vector(LogError(s"${what.capitalize}; it is tried again in $againInSeconds s")))
      case end => end
    }
  }

  /** A decommissioned one has said why itself; to be removed again would tell listeners twice. */
  private def ended(exit: ExecutorExit): Vector[SupervisionAction] =
    LogInfo(s"${exit.what} ended as requested, exit ${exit.code}") +:
      Option.when(exit.registered)(RemoveEnded(exit.id)).toVector

  /** Somebody's `kill` is no fault of the tasks that ran. */
  private def lost(exit: ExecutorExit): SupervisionAction =
    RemoveLost(exit.id, exit.code, byApplication = exit.code != 143, exit.quoted)

  private def giveUp(reason: Option[String]): (Supervision, Vector[SupervisionAction]) =
    if (givenUp || reason.isEmpty) (this, Vector.empty)
    else (copy(givenUp = true), reason.map(GiveUp(_)).toVector)
}

/** Which executors may register with a driver. */
object Registration {

  /**
   * @param of the application that an executor says it is of
   * @param ended whether its process has ended already: it would stay, and get tasks, for ever
   * @return why it may not
   */
  def refusal(
      executorId: String,
      host: String,
      of: Option[String],
      appId: String,
      ended: Boolean
  ): Option[String] =
    if (!of.contains(appId))
      Some(
        s"executor $executorId on $host does not belong to application $appId, which this driver runs"
      )
    else Option.when(ended)(s"executor $executorId on $host has ended already")
}
