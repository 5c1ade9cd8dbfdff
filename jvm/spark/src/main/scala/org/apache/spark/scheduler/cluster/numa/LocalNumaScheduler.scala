package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.TaskSchedulerImpl

/** Spark's scheduler, told that every host it knows stands in one rack: this machine. */
private[spark] class LocalNumaScheduler(sc: SparkContext) extends TaskSchedulerImpl(sc) {
  override val defaultRackValue: Option[String] = Some("/machine")
}
