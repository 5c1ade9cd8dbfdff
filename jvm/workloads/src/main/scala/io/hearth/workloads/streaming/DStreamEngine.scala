package io.hearth.workloads.streaming

import java.nio.file.Path
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.streaming.scheduler.{
  StreamingListener,
  StreamingListenerBatchCompleted,
  StreamingListenerReceiverError
}
import org.apache.spark.streaming.{Milliseconds, StreamingContext}

import io.hearth.workloads.UserError

/** Runs a job as DStreams. A batch's id is its time. */
final private[streaming] class DStreamEngine private (context: StreamingContext, log: BatchLog)
    extends StreamEngine {

  def batches: Seq[Batch] = log.batches

  def failure: Option[Throwable] = log.sourceError.orElse {
    try {
      // Throws what a batch's job threw; it is the only way to learn of it.
      context.awaitTerminationOrTimeout(0)
      None
    } catch { case NonFatal(e) => Some(e) }
  }

  def close(): Unit = context.stop(stopSparkContext = false, stopGracefully = false)
}

private[streaming] object DStreamEngine {

  def start(
      job: StreamJob,
      settings: StreamSettings,
      session: SparkSession,
      checkpoints: Path,
      answers: Answers
  ): StreamEngine = {
    val context = new StreamingContext(session.sparkContext, Milliseconds(settings.batchMs))
    val log = new BatchLog
    context.addStreamingListener(log)
    if (job.stateful) context.checkpoint(checkpoints.toUri.toString)
    val engine = new DStreamEngine(context, log)
    try {
      val receiver = new LineReceiver(settings.source, replicated = !session.sparkContext.isLocal)
      val lines = context.receiverStream(receiver)
      job.dstream(lines, settings, answers)
      // Spark reports only batches with an output; of windows, those between two slides have none.
      lines.foreachRDD(_ => ())
      context.start()
      engine
    } catch {
      case NonFatal(e) =>
        engine.close()
        throw e
    }
  }
}

final private[streaming] class BatchLog extends StreamingListener {
  private val completed = new ConcurrentLinkedQueue[Batch]
  private val error = new AtomicReference(Option.empty[UserError])

  def batches: Seq[Batch] = completed.asScala.toSeq
  def sourceError: Option[UserError] = error.get

  override def onBatchCompleted(event: StreamingListenerBatchCompleted): Unit = {
    val info = event.batchInfo
    val timeMs = info.batchTime.milliseconds
    completed.add(
      Batch(
        id = timeMs,
        timeMs = timeMs,
        events = info.numRecords,
        // Milliseconds from the batch's time: Spark counts from when it was submitted.
        schedulingDelayMs = info.processingStartTime.getOrElse(timeMs) - timeMs,
        processingMs = info.processingDelay.getOrElse(0L)
      )
    )
    ()
  }

  override def onReceiverError(event: StreamingListenerReceiverError): Unit = {
    val message = event.receiverInfo.lastErrorMessage
    error.compareAndSet(
      None,
      Some(new UserError(s"$message: start the data server and the job again"))
    )
    ()
  }
}
