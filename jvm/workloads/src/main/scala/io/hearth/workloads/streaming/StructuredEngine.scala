package io.hearth.workloads.streaming

import java.nio.file.Path
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryListener, Trigger}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Runs a job as a Structured Streaming query. A batch's id is that of its progress report. */
final private[streaming] class StructuredEngine private (
    session: SparkSession,
    query: StreamingQuery,
    log: ProgressLog
) extends StreamEngine {

  def batches: Seq[Batch] = log.batches

  def failure: Option[Throwable] = query.exception

  def close(): Unit = {
    query.stop()
    session.streams.removeListener(log)
  }
}

private[streaming] object StructuredEngine {

  def start(
      query: StructuredQuery,
      settings: StreamSettings,
      shared: SparkSession,
      checkpoints: Path,
      answers: Answers
  ): StreamEngine = {
    // A separate session, for its settings: Spark's 200 state stores are for a cluster.
    val session = shared.newSession()
    session.conf.set("spark.sql.shuffle.partitions", session.sparkContext.defaultParallelism.toLong)
    val log = new ProgressLog(settings.batchMs)
    session.streams.addListener(log)
    val keep: (DataFrame, Long) => Unit =
      (batch, id) => answers.append(id, query.answer(batch))
    val started = query
      .rows(lines(session, settings.source))
      .writeStream
      .outputMode(query.mode)
      .option("checkpointLocation", checkpoints.toUri.toString)
      .trigger(Trigger.ProcessingTime(settings.batchMs))
      .foreachBatch(keep)
      .start()
    new StructuredEngine(session, started, log)
  }

  private def lines(session: SparkSession, source: Address): DataFrame =
    session.readStream
      .format("socket")
      .option("host", source.host)
      .option("port", source.port.toLong)
      .option("includeTimestamp", value = true)
      .load()
}

/**
 * Turns progress reports into batches. The processing-time trigger starts a batch at each multiple
 * of the interval, and at once where the batch before took longer: such a batch was due at the
 * first multiple after the start of the one before.
 */
final private[streaming] class ProgressLog(intervalMs: Long) extends StreamingQueryListener {
  private var beforeBeganMs = 0L
  private var beforeEndedMs = 0L
  private val reported = new ConcurrentLinkedQueue[Batch]

  def batches: Seq[Batch] = reported.asScala.toSeq

  override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()
  override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit = ()

  override def onQueryProgress(event: StreamingQueryListener.QueryProgressEvent): Unit = {
    val progress = event.progress
    val processingMs: Long =
      progress.durationMs.asScala.get("triggerExecution").fold(0L)(_.longValue)
    val beganMs = Instant.parse(progress.timestamp).toEpochMilli
    val multipleMs = beganMs / intervalMs * intervalMs
    val dueMs =
      if (beforeEndedMs <= multipleMs) multipleMs
      else beforeBeganMs / intervalMs * intervalMs + intervalMs
    beforeBeganMs = beganMs
    beforeEndedMs = beganMs + processingMs
    val events = progress.numInputRows
    reported.add(Batch(progress.batchId, dueMs, events, beganMs - dueMs, processingMs))
    ()
  }
}
