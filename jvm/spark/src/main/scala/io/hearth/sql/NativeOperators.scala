package io.hearth.sql

import scala.collection.mutable

import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.execution.ui.{
  SparkListenerSQLAdaptiveExecutionUpdate,
  SparkListenerSQLExecutionEnd,
  SparkListenerSQLExecutionStart
}

/**
 * Says when an application ends how many of its queries' operators Comet ran, and why not others: what Comet's
 * `ExtendedExplainInfo` (`spark.sql.extendedExplainProviders`) appends to the description of a plan, added up.
 * `hearth submit` names it in `spark.extraListeners`.
 */
final class NativeOperators extends SparkListener {
  import NativeOperators._

  private val running = mutable.Map.empty[Long, Ran]
  private var ended = Ran(0, 0, Map.empty)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case start: SparkListenerSQLExecutionStart =>
      ran(start.physicalPlanDescription).foreach(running.update(start.executionId, _))
    case update: SparkListenerSQLAdaptiveExecutionUpdate =>
      ran(update.physicalPlanDescription).foreach(running.update(update.executionId, _))
    case end: SparkListenerSQLExecutionEnd =>
      running.remove(end.executionId).foreach(one => ended += one)
    case _ => ()
  }

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit =
    running.values
      .foldLeft(ended)(_ + _)
      .sentence
      .foreach(said => System.err.println(s"hearth: $said"))
}

private[sql] object NativeOperators {
  private val Counts = """(?m)^Comet accelerated (\d{1,6}) out of (\d{1,6}) eligible""".r
  private val Left = """(?m)(\w{1,80}) +\[COMET: ([^\n]{1,1000})\]$""".r
  private val Most = 50
  private val Shown = 3
  private val Length = 240

  /** So many operators, of those that Comet could run; why it did not run others, by their names. */
  final case class Ran(native: Long, operators: Long, left: Map[String, String]) {
    def +(other: Ran): Ran =
      Ran(native + other.native, operators + other.operators, (left ++ other.left).take(Most))

    def sentence: Option[String] = Option.when(operators > 0) {
      val shown = left.toVector.sortBy(_._1).take(Shown).map { case (name, why) => s"$name ($why)" }
      val more = if (left.size > Shown) s" and ${left.size - Shown} more" else ""
      val rest = if (shown.isEmpty) "" else shown.mkString("; not ", ", ", more)
      s"Comet ran $native of $operators SQL operators$rest"
    }
  }

  def ran(description: String): Option[Ran] =
    Counts.findFirstMatchIn(description).map { counts =>
      val left = Left.findAllMatchIn(description).take(Most)
      val reasons = left.map(one => one.group(1) -> one.group(2).take(Length))
      Ran(counts.group(1).toLong, counts.group(2).toLong, reasons.toMap)
    }
}
