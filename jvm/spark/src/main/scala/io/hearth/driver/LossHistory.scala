package io.hearth.driver

import io.hearth.core.Counted

/** How many lost executors an application survives. */
sealed trait LossLimit

object LossLimit {

  /** At most so many in all, as on YARN and Kubernetes: `spark.executor.maxNumFailures`. */
  final case class InAll(max: Int) extends LossLimit

  /**
   * Fewer than so many with no task finished since the first of them, while no executor is at work; as
   * a standalone cluster counts (`spark.deploy.maxExecutorRetries`), where to have started is enough. A
   * negative number is no limit.
   */
  final case class InARow(fewerThan: Int) extends LossLimit
}

/**
 * Executors that an application has lost, and whether those are too many.
 *
 * @param validMs for how long a loss counts; absent for ever
 * @param losses when each was lost, in milliseconds; those that still count
 * @param finishers executors that have finished a task
 */
final case class LossHistory(
    limit: LossLimit,
    validMs: Option[Long],
    losses: Vector[Long] = Vector.empty,
    finishers: Set[String] = Set.empty
) {

  /** An executor has finished a task. */
  def finishedTask(executorId: String): LossHistory = limit match {
    case _: LossLimit.InAll => this
    case _ if losses.isEmpty && finishers.contains(executorId) => this
    case _ => copy(losses = Vector.empty, finishers = finishers + executorId)
  }

  def lost(executorId: String, nowMs: Long): LossHistory =
    notStarted(nowMs).copy(finishers = finishers - executorId)

  /** A successor could not be started. */
  def notStarted(nowMs: Long): LossHistory =
    copy(losses = losses.filter(at => validMs.forall(nowMs - at <= _)) :+ nowMs)

  private def lost(number: Int) =
    s"${Counted(number, "executor")} ${if (number == 1) "was" else "were"} lost"

  /**
   * Why the application cannot go on; to be asked after a loss.
   *
   * @param running ids of the executors that run
   */
  def exhausted(running: Set[String]): Option[String] = limit match {
    case LossLimit.InAll(max) =>
      Option.when(losses.size > max)(
        s"${lost(losses.size)}, more than the $max allowed by spark.executor.maxNumFailures"
      )
    case LossLimit.InARow(fewerThan) =>
      val idle = !finishers.exists(running.contains)
      Option.when(fewerThan >= 0 && losses.size >= fewerThan && idle)(
        s"${lost(losses.size)} in a row and no task was finished in between; " +
          s"spark.deploy.maxExecutorRetries is $fewerThan"
      )
  }
}
