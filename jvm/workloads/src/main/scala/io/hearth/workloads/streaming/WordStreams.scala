package io.hearth.workloads.streaming

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.functions.{array, col, concat, count, explode, filter, length, lit}
import org.apache.spark.sql.functions.{split, sum, unix_millis, window}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.streaming.dstream.DStream
import org.apache.spark.streaming.{Milliseconds, State, StateSpec}

import io.hearth.workloads.{Json, Parameter}

/** Words are separated by blanks, as in the batch job `word-count`. */
private object Words {

  def of(lines: DStream[String]): DStream[String] =
    lines.flatMap(_.split(' ')).filter(_.nonEmpty)

  def pairs(lines: DStream[String]): DStream[(String, Long)] = of(lines).map(_ -> 1L)

  def column(lines: DataFrame): DataFrame =
    lines.select(explode(split(col("value"), " ")).as("word")).where(length(col("word")) > 0)
}

/** Answer, per batch: `counts`, how often each word occurs in the batch. */
object NetworkWordCount extends StreamJob("streaming-network-word-count", "text") {
  val summary = "how often each word occurs in each batch of lines"
  val stresses = "task scheduling at low rates; splitting and a small shuffle at high ones"

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keepCounts("counts", Words.pairs(lines).reduceByKey(_ + _))

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery.ofBatches(Words.column)(batch =>
      Answers.counts("counts", batch.groupBy("word").count())
    )
  )
}

/** Answer, per batch: `matched`, the lines that hold the pattern, and `bytes`, their length. */
object NetworkGrep extends StreamJob("streaming-network-grep", "text") {
  val summary = "the lines of each batch that contain a text"
  val stresses = "task scheduling; a scan of each line, no shuffle"
  override val own: Seq[Parameter] = Seq(Parameter("pattern", "an", "text to look for"))

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val pattern = settings.values.text("pattern")
    val lengths = lines.filter(_.contains(pattern)).map(line => (1L, line.length.toLong))
    answers.keep(lengths) { rdd =>
      val (matched, bytes) = rdd.fold((0L, 0L))((a, b) => (a._1 + b._1, a._2 + b._2))
      Json.obj("matched" -> matched, "bytes" -> bytes)
    }
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    StructuredQuery.ofBatches(_.where(col("value").contains(settings.values.text("pattern")))) {
      batch =>
        val row = batch.agg(count(lit(1)), sum(length(col("value")))).head()
        val bytes = if (row.isNullAt(1)) 0L else row.getLong(1)
        Json.obj("matched" -> row.getLong(0), "bytes" -> bytes)
    }
  )
}

/**
 * Answer, DStream, per slide: `counts`, how often each word occurs in the batches of the window
 * that ends with this one. Structured, per batch: `windows`, of each window of arrival times that
 * the batch changed (by its start in ms since the epoch), how often each of the words that occur in
 * the batch has occurred so far; the key "\n" counts lines.
 */
object WindowedWordCount extends StreamJob("streaming-windowed-word-count", "text") {
  val summary = "how often each word occurs in a sliding window"
  val stresses = "as the network word count, plus blocks kept for the length of the window"
  override val published: String = s"windows of 30 s every 10 s; ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(30, 10, "30 s every 10 s (Awan 2016)")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keepCounts("counts", Windows.sums(Words.pairs(lines), settings))

  private def words = filter(split(col("value"), " "), word => length(word) > 0)

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    Windows.query(
      settings,
      _.select(
        col("timestamp"),
        explode(concat(words, array(lit("\n")))).as("key"),
        lit(false).as("error")
      )
    )
  )
}

/** Answer, per batch: `totals`, of each word in the batch, how often it occurred since the start. */
object StatefulWordCount extends StreamJob("streaming-stateful-word-count", "text") {
  val summary = "how often each word has occurred since the start"
  val stresses = "state that grows with the words seen, and its checkpoints"
  override val stateful = true

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val add = (word: String, more: Option[Long], state: State[Long]) => {
      val total = state.getOption().getOrElse(0L) + more.getOrElse(0L)
      state.update(total)
      word -> total
    }
    val totals =
      Words.pairs(lines).reduceByKey(_ + _).mapWithState(StateSpec.function(add))
    answers.keepCounts("totals", totals)
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery(
      Words.column(_).groupBy("word").count(),
      "update",
      Answers.counts("totals", _)
    )
  )
}

/** Answer, per batch: `counts`, how often each word occurs in the batch. */
object SqlWordCount extends StreamJob("streaming-sql-word-count", "text") {
  val summary = "how often each word occurs in each batch, by a SQL query on a table of its words"
  val stresses = "as the network word count, plus query planning in each batch"

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keep(Words.of(lines)) { rdd =>
      val session = SparkSession.builder().config(rdd.sparkContext.getConf).getOrCreate()
      count(session.createDataFrame(rdd.map(Row(_)), new StructType().add("word", StringType)))
    }

  override val structured: Option[StreamSettings => StructuredQuery] =
    Some(_ => StructuredQuery.ofBatches(Words.column)(count))

  private def count(words: DataFrame): ObjectNode = {
    words.createOrReplaceTempView("words")
    val query = "select word, count(*) as total from words group by word"
    Answers.counts("counts", words.sparkSession.sql(query))
  }
}

/** Sliding windows, of both interfaces. */
private[streaming] object Windows {

  /** Of each key in a window of batches. */
  def sums(pairs: DStream[(String, Long)], settings: StreamSettings): DStream[(String, Long)] =
    sums(pairs, settings.windowMs, settings.slideMs)

  def sums(
      pairs: DStream[(String, Long)],
      windowMs: Long,
      slideMs: Long
  ): DStream[(String, Long)] =
    pairs.reduceByKeyAndWindow(
      (a: Long, b: Long) => a + b,
      Milliseconds(windowMs),
      Milliseconds(slideMs)
    )

  /**
   * A Structured Streaming query over windows of arrival times. Counts the rows of each key in each window, or (events, errors) of them.
   *
   * @param rows columns `timestamp`, `key` and `error`
   */
  def query(
      settings: StreamSettings,
      rows: DataFrame => DataFrame,
      errors: Boolean = false
  ): StructuredQuery = {
    val spans =
      window(
        col("timestamp"),
        s"${settings.windowMs} milliseconds",
        s"${settings.slideMs} milliseconds"
      ).as("span")
    StructuredQuery(
      lines =>
        rows(lines.withWatermark("timestamp", "0 seconds"))
          .groupBy(spans, col("key"))
          .agg(count(lit(1)).as("events"), sum(col("error").cast("long")).as("errors"))
          .select(unix_millis(col("span.start")), col("key"), col("events"), col("errors")),
      "update",
      batch => json(batch.collect(), errors)
    )
  }

  private def json(rows: Array[Row], errors: Boolean): ObjectNode = {
    val spans = rows.groupBy(_.getLong(0)).map { case (start, inside) =>
      start.toString -> Json.obj(inside.toSeq.map { row =>
        val events = row.getLong(2)
        row.getString(1) -> (if (errors) Seq(events, row.getLong(3)) else events)
      }: _*)
    }
    Json.obj("windows" -> Json.obj(spans.toSeq: _*))
  }
}
