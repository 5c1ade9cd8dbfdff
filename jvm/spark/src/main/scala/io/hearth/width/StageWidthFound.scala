package io.hearth.width

import org.apache.spark.scheduler.SparkListenerEvent

/**
 * How many tasks of a stage run at once in an executor from now on; Spark writes it to the application's event log.
 *
 * @param time in ms
 * @param because why it stays so; empty while others are tried
 */
final case class StageWidthFound(
    stageId: Int,
    time: Long,
    width: Int,
    planned: Int,
    because: String
) extends SparkListenerEvent
