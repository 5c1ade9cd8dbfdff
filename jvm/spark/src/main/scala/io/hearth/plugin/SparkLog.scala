package io.hearth.plugin

import org.apache.spark.internal.Logging

import io.hearth.driver.Log

/** What hearth says in Spark's own log, under a name. */
class SparkLog(override protected val logName: String) extends Log with Logging {
  override def info(sentence: String): Unit = logInfo(sentence)
  override def warn(sentence: String): Unit = logWarning(sentence)
  override def error(sentence: String): Unit = logError(sentence)
  override def fault(sentence: String, cause: Throwable): Unit =
    logWarning(s"$sentence: $cause", cause)
}

/** What hearth says in the driver's log. */
object DriversLog extends SparkLog("org.apache.spark.scheduler.cluster.numa.LocalNuma") {
  override def fault(sentence: String, cause: Throwable): Unit = logError(sentence, cause)
}
