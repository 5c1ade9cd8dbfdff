package io.hearth.workloads.streaming

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.hadoop.fs.{Path => HadoopPath}

import io.hearth.workloads.{JobRun, UserError}

/** One of Spark's two streaming engines, at work on one job. */
private[streaming] trait StreamEngine extends AutoCloseable {

  /** All batches that were processed so far, in order. */
  def batches: Seq[Batch]

  /** What ended the processing, if anything did. */
  def failure: Option[Throwable]
}

/** Runs a job until its source has sent everything and everything is processed. */
private[streaming] object StreamRun {

  def apply(job: StreamJob, settings: StreamSettings, run: JobRun): Unit = {
    val control = new Control(settings.control)
    control.status()
    cores(run)
    val checkpoints = run.answer.resolve("_checkpoints")
    try {
      val (ending, batches) = run.phase("stream") {
        Using.resource(start(job, settings, run, checkpoints)) { engine =>
          val ending = new Follower(engine, control, settings, settle(job, settings)).follow()
          (ending, engine.batches)
        }
      }
      run.section("streaming", StreamReport.json(settings, ending, batches))
    } finally remove(run, checkpoints)
  }

  private def start(
      job: StreamJob,
      settings: StreamSettings,
      run: JobRun,
      checkpoints: Path
  ): StreamEngine = {
    val answers = new Answers(run.answer.resolve("batches.jsonl").toString)
    job.structured match {
      case Some(query) if settings.api == "structured" =>
        StructuredEngine.start(query(settings), settings, run.session, checkpoints, answers)
      case _ => DStreamEngine.start(job, settings, run.session, checkpoints, answers)
    }
  }

  /** A receiver holds one core for itself: with one core in all, nothing would be processed. */
  private def cores(run: JobRun): Unit = {
    val master = run.session.sparkContext.master
    if (run.session.sparkContext.defaultParallelism < 2)
      throw new UserError(s"--master: $master has one core, a streaming job needs two: local[2]")
  }

  /** The window that ends a slide after the last event still holds it: it must be seen. */
  private def settle(job: StreamJob, settings: StreamSettings): Long =
    if (job.windowed && settings.api == "dstream") settings.slideMs - settings.batchMs else 0L

  private def remove(run: JobRun, folder: Path): Unit =
    if (Files.exists(folder)) {
      val path = new HadoopPath(folder.toUri)
      path.getFileSystem(run.session.sparkContext.hadoopConfiguration).delete(path, true)
      ()
    }
}

/**
 * The source's last status, and when it was first seen to have sent everything (ms since the
 * epoch).
 */
final private[streaming] case class Ending(source: SourceStatus, doneAtMs: Long)

/**
 * Waits for the end of a run, or for a failure before it.
 *
 * @param settleMs how long batches continue after the last one with events
 */
final private class Follower(
    engine: StreamEngine,
    control: Control,
    settings: StreamSettings,
    settleMs: Long
) {
  private val pollMs = 100L

  /**
   * Returns when everything that the source sent is processed: its last status, and when it had
   * sent everything.
   *
   * @throws UserError where the source died or nothing moves any longer
   */
  def follow(): Ending = {
    var status = control.status()
    var doneAtMs = Option.empty[Long]
    var moved = progress(status)
    var movedAt = System.nanoTime()
    while (!finished(status)) {
      Thread.sleep(pollMs)
      engine.failure.foreach(error => throw readable(error))
      status = control.status()
      if (progress(status) != moved) {
        moved = progress(status)
        movedAt = System.nanoTime()
      }
      if (status.done && doneAtMs.isEmpty) doneAtMs = Some(System.currentTimeMillis())
      check(status, (System.nanoTime() - movedAt) / 1000000)
    }
    Ending(status, doneAtMs.getOrElse(System.currentTimeMillis()))
  }

  private def processed: Long = engine.batches.map(_.events).sum

  private def progress(status: SourceStatus): (Long, Long) = (status.sent, processed)

  private def finished(status: SourceStatus): Boolean =
    status.done && !status.readerGone && processed >= status.sent && settled

  private def settled: Boolean = {
    val batches = engine.batches
    val last = batches.filter(_.events > 0).lastOption.map(_.timeMs)
    last.exists(time => batches.exists(_.timeMs >= time + settleMs))
  }

  private def check(status: SourceStatus, stillMs: Long): Unit = {
    if (status.readerGone)
      throw new UserError(
        s"the connection to the source ${settings.source} was lost after ${status.sent} events, " +
          s"of which $processed are processed; the rest is lost: start both again"
      )
    if (stillMs > settings.patienceMs)
      throw new UserError(
        s"nothing has moved for ${stillMs / 1000} s (--patience-s): the source sent ${status.sent} " +
          s"events, $processed are processed; give the job more cores or more patience"
      )
  }

  /** A user error may be anywhere among the causes. */
  private def readable(error: Throwable): Throwable =
    Iterator
      .iterate(error)(_.getCause)
      .takeWhile(cause => Option(cause).isDefined)
      .collectFirst {
        case e: UserError => e
        case e: java.net.ConnectException =>
          new UserError(
            s"--source: nothing listens at ${settings.source} (${e.getMessage}): start the data " +
              "server, which takes one reader only",
            Some(e)
          )
      }
      .getOrElse(error)
}
