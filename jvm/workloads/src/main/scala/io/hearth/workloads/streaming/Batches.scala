package io.hearth.workloads.streaming

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.Json

/**
 * One micro-batch that was processed.
 *
 * @param id under which the job's answers refer to it
 * @param timeMs when it was due, since the epoch
 * @param events that it read from the source
 * @param schedulingDelayMs from when it was due to the start of its processing
 */
final private[streaming] case class Batch(
    id: Long,
    timeMs: Long,
    events: Long,
    schedulingDelayMs: Long,
    processingMs: Long
) {
  def totalDelayMs: Long = schedulingDelayMs + processingMs

  def json(warmUp: Boolean): ObjectNode = Json.obj(
    "id" -> id,
    "time_ms" -> timeMs,
    "events" -> events,
    "scheduling_delay_ms" -> schedulingDelayMs,
    "processing_ms" -> processingMs,
    "total_delay_ms" -> totalDelayMs,
    "warm_up" -> warmUp
  )
}

/** What the result says of a streaming run besides its answer (`streaming` in its result). */
private[streaming] object StreamReport {

  val KeptUp = "the last batch with events began less than one batch interval after it was due, " +
    "the source left nothing unsent, and that batch was due within two intervals of the " +
    "source's end"

  /**
   * Batches that were due before the ramp-up ended, counted from the first one with events, are
   * listed and marked, and left out of the figures.
   */
  def json(settings: StreamSettings, ending: Ending, batches: Seq[Batch]): ObjectNode = {
    val status = ending.source
    val first = batches.find(_.events > 0).map(_.timeMs).getOrElse(0L)
    val (warmUp, measured) = batches.partition(_.timeMs < first + settings.rampUpMs)
    Json.obj(
      "api" -> settings.api,
      "batch_ms" -> settings.batchMs,
      "ramp_up_ms" -> settings.rampUpMs,
      "events_sent" -> status.sent,
      "events_processed" -> batches.map(_.events).sum,
      "unsent" -> status.unsent,
      "source_late_ms_max" -> status.lateMsMax,
      "warm_up_batches" -> warmUp.size,
      "measured_batches" -> measured.size,
      "processing_ms" -> processing(measured),
      "scheduling_delay_ms" -> schedulingDelay(measured),
      "kept_up" -> keptUp(settings, ending, batches),
      "kept_up_means" -> KeptUp,
      "batches" -> (warmUp.map(_.json(warmUp = true)) ++ measured.map(_.json(warmUp = false)))
    )
  }

  /** The last condition covers what waited in socket buffers, where no batch counts it. */
  private def keptUp(settings: StreamSettings, ending: Ending, all: Seq[Batch]): Boolean =
    ending.source.unsent == 0 && all.filter(_.events > 0).lastOption.exists { last =>
      last.schedulingDelayMs < settings.batchMs &&
      last.timeMs - ending.doneAtMs < 2 * settings.batchMs
    }

  private def processing(measured: Seq[Batch]): JsonNode = {
    val sorted = measured.map(_.processingMs).sorted
    if (sorted.isEmpty) absent
    else
      Json.obj(
        "median" -> quantile(sorted, 0.5),
        "p95" -> quantile(sorted, 0.95),
        "max" -> sorted.last
      )
  }

  private def schedulingDelay(measured: Seq[Batch]): JsonNode = {
    val delays = measured.map(_.schedulingDelayMs)
    if (delays.isEmpty) absent else Json.obj("max" -> delays.max, "last" -> delays.last)
  }

  private def absent: JsonNode = Json.obj("absent" -> "no batch is after the ramp-up")

  /** The nearest-rank quantile: a value that occurred. */
  private[streaming] def quantile(sorted: Seq[Long], part: Double): Long =
    sorted(math.max(0, math.ceil(part * sorted.size).toInt - 1))
}
