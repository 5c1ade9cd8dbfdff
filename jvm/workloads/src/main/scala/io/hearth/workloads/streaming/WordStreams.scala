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

  /** Rows of (word, count) as the field `counts`. */
  def counts(rows: Array[Row]): ObjectNode =
    Answers.counts("counts", rows.map(row => row.getString(0) -> row.getLong(1)))
}

/** Answer, per batch: `counts`, how often each word occurs in the batch. */
object NetworkWordCount extends StreamJob("streaming-network-word-count", "text") {
  val summary = "how often each word occurs in each batch of lines"
  val stresses = "task scheduling at low rates; splitting and a small shuffle at high ones"
  val published: String = Published.protocol

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    Words.pairs(lines).reduceByKey(_ + _).foreachRDD { (rdd, time) =>
      answers.append(time.milliseconds, Answers.counts("counts", rdd.collect()))
    }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery(
      Words.column,
      "append",
      batch => Words.counts(batch.groupBy("word").count().collect())
    )
  )
}

/** Answer, per batch: `matched`, the lines that hold the pattern, and `bytes`, their length. */
object NetworkGrep extends StreamJob("streaming-network-grep", "text") {
  val summary = "the lines of each batch that contain a text"
  val stresses = "task scheduling; a scan of each line, no shuffle"
  val published: String = Published.protocol
  override val own: Seq[Parameter] = Seq(Parameter("pattern", "an", "text to look for"))

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val pattern = settings.values.text("pattern")
    lines
      .filter(_.contains(pattern))
      .map(line => (1L, line.length.toLong))
      .foreachRDD { (rdd, time) =>
        val (matched, bytes) = rdd.fold((0L, 0L))((a, b) => (a._1 + b._1, a._2 + b._2))
        answers.append(time.milliseconds, found(matched, bytes))
      }
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    StructuredQuery(
      _.where(col("value").contains(settings.values.text("pattern"))),
      "append",
      batch => {
        val row = batch.agg(count(lit(1)), sum(length(col("value")))).head()
        found(row.getLong(0), if (row.isNullAt(1)) 0L else row.getLong(1))
      }
    )
  )

  private def found(matched: Long, bytes: Long): ObjectNode =
    Json.obj().put("matched", matched).put("bytes", bytes)
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
  val published: String = s"windows of 30 s every 10 s; ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(30, 10, "30 s every 10 s (Awan 2016)")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    Words
      .pairs(lines)
      .reduceByKeyAndWindow(
        (a: Long, b: Long) => a + b,
        Milliseconds(settings.windowMs),
        Milliseconds(settings.slideMs)
      )
      .foreachRDD { (rdd, time) =>
        answers.append(time.milliseconds, Answers.counts("counts", rdd.collect()))
      }

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
  val published: String = Published.protocol
  override val stateful = true

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val add = (word: String, more: Option[Long], state: State[Long]) => {
      val total = state.getOption().getOrElse(0L) + more.getOrElse(0L)
      state.update(total)
      word -> total
    }
    Words
      .pairs(lines)
      .reduceByKey(_ + _)
      .mapWithState(StateSpec.function(add))
      .foreachRDD { (rdd, time) =>
        answers.append(time.milliseconds, Answers.counts("totals", rdd.collect()))
      }
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery(
      Words.column(_).groupBy("word").count(),
      "update",
      batch =>
        Answers.counts("totals", batch.collect().map(row => row.getString(0) -> row.getLong(1)))
    )
  )
}

/** Answer, per batch: `counts`, how often each word occurs in the batch. */
object SqlWordCount extends StreamJob("streaming-sql-word-count", "text") {
  val summary = "how often each word occurs in each batch, by a SQL query on a table of its words"
  val stresses = "as the network word count, plus query planning in each batch"
  val published: String = Published.protocol

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    Words.of(lines).foreachRDD { (rdd, time) =>
      val session = SparkSession.builder().config(rdd.sparkContext.getConf).getOrCreate()
      val words = session.createDataFrame(rdd.map(Row(_)), new StructType().add("word", StringType))
      answers.append(time.milliseconds, count(words))
    }

  override val structured: Option[StreamSettings => StructuredQuery] =
    Some(_ => StructuredQuery(Words.column, "append", count))

  private def count(words: DataFrame): ObjectNode = {
    words.createOrReplaceTempView("words")
    Words.counts(
      words.sparkSession.sql("select word, count(*) as total from words group by word").collect()
    )
  }
}

/** Windows of arrival times as a Structured Streaming query. */
private object Windows {

  /**
   * Counts the rows of each key in each window, or (events, errors) of them.
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
    val spans = Json.obj()
    rows.groupBy(_.getLong(0)).foreach { case (start, inside) =>
      val span = spans.putObject(start.toString)
      inside.foreach { row =>
        if (errors) span.putArray(row.getString(1)).add(row.getLong(2)).add(row.getLong(3))
        else span.put(row.getString(1), row.getLong(2))
      }
    }
    Answers.value("windows", spans)
  }
}
