package io.hearth.logging

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.scalatest.funsuite.AnyFunSuite

class LocalCheckpointsSuite extends AnyFunSuite {

  test(
    "Spark's warning of a local checkpoint directory is not logged, all else is, by the root's level"
  ) {
    val context = LogManager.getContext(false).asInstanceOf[LoggerContext]
    val root = context.getConfiguration.getRootLogger
    val before = root.getLevel
    val logged = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("kept", null, null, false, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = {
        logged.add(event.getMessage.getFormattedMessage)
        ()
      }
    }
    appender.start()
    root.addAppender(appender, null, null)
    def at(level: Level): Unit = {
      root.setLevel(level)
      context.updateLoggers()
    }
    try {
      at(Level.WARN)
      LocalCheckpoints.unwarned()
      LocalCheckpoints.unwarned() // of a second context
      val logger = LogManager.getLogger("org.apache.spark.SparkContext")
      logger.warn(
        "Spark is not running in local mode, therefore the checkpoint directory must not be on the local filesystem."
      )
      logger.warn("another")
      at(Level.ERROR)
      logger.warn("below the level")
      assert(logged.asScala.toVector == Vector("another"))
    } finally {
      root.removeAppender("kept")
      at(before)
    }
  }
}
