package io.hearth.workloads.streaming

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.workloads.streaming.server.FeedPlan
import io.hearth.workloads.{Settings, UserError}

class StreamReportTest extends AnyFunSuite {

  private def settings(chosen: (String, String)*): StreamSettings = {
    val addresses = Map("source" -> "localhost:1", "control" -> "localhost:2")
    val protocol = Map("batch-ms" -> "2000", "ramp-up-s" -> "4")
    val values =
      Settings.of(PopularTags.name, PopularTags.parameters, addresses ++ protocol ++ chosen)
    PopularTags.fit(values)
    StreamSettings.of(values)
  }

  private def batches(delaysMs: Long*): Seq[Batch] = delaysMs.zipWithIndex.map { case (delay, i) =>
    Batch(i.toLong, 2000L * i, events = 10, delay, processingMs = 100L * i)
  }

  private def report(unsent: Long, doneAtMs: Long, batches: Seq[Batch]) =
    StreamReport.json(
      settings(),
      Ending(SourceStatus(10L * batches.size, unsent, true, 0, false), doneAtMs),
      batches
    )

  test("a run kept up when its last batch began in time and the source left nothing") {
    val ten = batches(0, 0, 9000, 0, 1999)
    assert(report(0, 8000, ten).path("kept_up").asBoolean)
    assert(!report(1, 8000, ten).path("kept_up").asBoolean, "something was not sent")
    assert(!report(0, 8000, ten ++ batches(2000)).path("kept_up").asBoolean, "late at the end")
    assert(!report(0, 4000, ten).path("kept_up").asBoolean, "long after the source's end")
  }

  test("batches of the ramp-up are listed, and left out of the figures") {
    val document = report(0, 8000, batches(9000, 9000, 5, 7, 6))
    assert(document.path("warm_up_batches").asInt == 2)
    assert(document.path("batches").size == 5)
    assert(document.path("scheduling_delay_ms").path("max").asLong == 7)
    assert(document.path("processing_ms").path("median").asLong == 300)
    assert(document.path("processing_ms").path("p95").asLong == 400)
  }

  test("figures over no batch are absent, with the reason") {
    val document = report(0, 0, batches(1))
    assert(document.path("processing_ms").path("absent").asText.contains("ramp-up"))
  }

  test("windows that do not fit the batches are refused by name") {
    val slide = intercept[UserError](settings("slide-s" -> "3", "window-s" -> "6"))
    assert(
      slide.getMessage.startsWith("--slide-s: 3 is not a multiple of the batch interval (2.0 s)")
    )
    val window = intercept[UserError](settings("window-s" -> "15", "slide-s" -> "10"))
    assert(
      window.getMessage.startsWith("--window-s: 15 is not a multiple of the batch interval (2.0 s)")
    )
    settings("window-s" -> "16", "slide-s" -> "10")
    val structured = Map("api" -> "structured", "window-s" -> "16", "slide-s" -> "10")
    val job = SlidingPageCounts
    val panes =
      intercept[UserError](job.fit(Settings.of(job.name, job.parameters, structured)))
    assert(panes.getMessage.startsWith("--window-s: 16 is not a multiple of --slide-s (10.0 s)"))
    val short = intercept[UserError](settings("short-window-s" -> "5"))
    assert(
      short.getMessage.startsWith(
        "--short-window-s: 5 is not a multiple of the batch interval (2.0 s)"
      )
    )
  }

  test("an event is due at its place in the rate, and none beyond the last") {
    val plan = FeedPlan.of(events = 100, rate = 10)
    assert(plan.due(elapsedNs = 0) == 1)
    assert(plan.due(elapsedNs = 950000000L) == 10)
    assert(plan.due(elapsedNs = 60000000000L) == 100)
    assert(plan.dueNs(event = 9) == 900000000L)
  }
}
