package io.hearth.logging

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.{Filter, LogEvent, LoggerContext}
import org.apache.logging.log4j.core.config.LoggerConfig
import org.apache.logging.log4j.core.filter.AbstractFilter

/**
 * Keeps one wrong warning out of the log: Spark knows local masters by their names, so it warns that a checkpoint
 * directory on a local path cannot be shared, although driver and executors share this machine.
 */
object LocalCheckpoints {
  private val Logger = "org.apache.spark.SparkContext"
  private val Warning = "Spark is not running in local mode, therefore the checkpoint directory"

  /** Filter the warning; nothing where the application logs with something else than Log4j 2. */
  def unwarned(): Unit = LogManager.getContext(false) match {
    case context: LoggerContext => filter(context)
    case _ => ()
  }

  private def filter(context: LoggerContext): Unit = {
    val configuration = context.getConfiguration
    val nearest = configuration.getLoggerConfig(Logger)
    val ours =
      if (nearest.getName == Logger) nearest
      else {
        val added =
          new LoggerConfig(Logger, null, true) // no level: its parent's, also when that changes
        configuration.addLogger(Logger, added)
        added
      }
    if (!ours.getFilter.isInstanceOf[Unwarned.type]) ours.addFilter(Unwarned)
    context.updateLoggers()
  }

  private object Unwarned extends AbstractFilter {
    override def filter(event: LogEvent): Filter.Result =
      if (event.getMessage.getFormattedMessage.startsWith(Warning)) Filter.Result.DENY
      else Filter.Result.NEUTRAL
  }
}
