package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.internal.Logging

import io.hearth.driver.Log

/** What hearth says in the driver's log, by Spark's own logging. */
private[spark] object DriversLog extends Log with Logging {
  override protected def logName: String = "org.apache.spark.scheduler.cluster.numa.LocalNuma"
  override def info(sentence: String): Unit = logInfo(sentence)
  override def warn(sentence: String): Unit = logWarning(sentence)
  override def error(sentence: String): Unit = logError(sentence)
  override def fault(sentence: String, cause: Throwable): Unit = logError(sentence, cause)
}
