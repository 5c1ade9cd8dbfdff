package io.hearth.plugin

import org.apache.spark.Success
import org.apache.spark.scheduler._

import io.hearth.driver.{RunState, WorkSoFar}

/**
 * Adds up what Spark says of ended tasks and lost executors, in a thread of Spark's.
 *
 * @param write is called when the application has its id, and behind its last task
 */
final class WorkListener(work: WorkSoFar, write: RunState => Unit = _ => ()) extends SparkListener {

  override def onApplicationStart(start: SparkListenerApplicationStart): Unit =
    write(RunState.Running)

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = {
    val metrics = Option(end.taskMetrics) // absent where the task never ran
    val (runMs, gcMs) = metrics.fold((0L, 0L))(m => (m.executorRunTime, m.jvmGCTime))
    work.add(_.ended(end.reason == Success, runMs, gcMs))
  }

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit =
    work.add(_.lost(removed.executorId, removed.reason))

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
    work.close()
    write(RunState.Finished)
  }
}
