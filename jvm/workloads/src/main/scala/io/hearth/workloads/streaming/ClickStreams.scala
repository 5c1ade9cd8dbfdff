package io.hearth.workloads.streaming

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.functions.{col, lit, split}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.streaming.Milliseconds
import org.apache.spark.streaming.dstream.DStream

import io.hearth.workloads.{Json, Parameter}

/** A page view. An error is any status but 200. */
final private[streaming] case class Click(user: String, page: String, error: Boolean, zip: String)

private[streaming] object Click {

  /** From a line `number<TAB>user<TAB>url<TAB>status<TAB>zip`. */
  def of(line: String): Click = {
    val fields = line.split('\t')
    Click(user = fields(1), page = fields(2), error = fields(3) != "200", zip = fields(4))
  }

  /** A field of each line, by position, as the column `key`; and whether the line is an error. */
  def keyed(lines: DataFrame, field: Int): DataFrame = {
    val fields = split(col("value"), "\t")
    lines.select(
      col("timestamp"),
      fields.getItem(field).as("key"),
      (fields.getItem(3) =!= lit("200")).as("error")
    )
  }

  val User = 1
  val Page = 2
  val Zip = 4
}

/**
 * The click-stream jobs follow Spark's example `PageViewStream`, which Awan 2016 ran one by one.
 *
 * Answer, DStream, per slide: `zips`, [events, errors] of each zip code in the batches of the
 * window that ends with this one. Structured, per batch: `windows`, as the windowed word count,
 * with [events, errors].
 */
object ErrorRatePerZip extends StreamJob("streaming-click-error-rate-per-zip", "clicks") {
  val summary = "the share of failed page views by zip code, in a sliding window"
  val stresses = "a small shuffle for each slide over a whole window of blocks"
  val published: String = s"windows of 30 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(30, 2, "30 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    lines
      .map(Click.of)
      .map(click => click.zip -> (1L, if (click.error) 1L else 0L))
      .reduceByKeyAndWindow(
        (a: (Long, Long), b: (Long, Long)) => (a._1 + b._1, a._2 + b._2),
        Milliseconds(settings.windowMs),
        Milliseconds(settings.slideMs)
      )
      .foreachRDD { (rdd, time) =>
        val zips = Json.obj()
        rdd.collect().foreach { case (zip, (events, errors)) =>
          zips.putArray(zip).add(events).add(errors)
        }
        answers.append(time.milliseconds, Answers.value("zips", zips))
      }

  override val structured: Option[StreamSettings => StructuredQuery] =
    Some(settings => Windows.query(settings, Click.keyed(_, Click.Zip), errors = true))
}

/** Answer, per batch: `counts`, the views of each page in the batch. */
object PageCounts extends StreamJob("streaming-click-page-counts", "clicks") {
  val summary = "how often each page is viewed in each batch"
  val stresses = "task scheduling, a small shuffle"
  val published: String = Published.protocol

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    lines.map(Click.of(_).page).countByValue().foreachRDD { (rdd, time) =>
      answers.append(time.milliseconds, Answers.counts("counts", rdd.collect()))
    }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery(
      Click.keyed(_, Click.Page),
      "append",
      batch => {
        val rows = batch.groupBy("key").count().collect()
        Answers.counts("counts", rows.map(row => row.getString(0) -> row.getLong(1)))
      }
    )
  )
}

/** Answer: as the windowed word count, of pages. */
object SlidingPageCounts extends StreamJob("streaming-click-sliding-page-counts", "clicks") {
  val summary = "how often each page is viewed in a sliding window"
  val stresses = "a small shuffle for each slide over a window of blocks"
  val published: String = s"windows of 10 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(10, 2, "10 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    lines
      .map(Click.of(_).page -> 1L)
      .reduceByKeyAndWindow(
        (a: Long, b: Long) => a + b,
        Milliseconds(settings.windowMs),
        Milliseconds(settings.slideMs)
      )
      .foreachRDD { (rdd, time) =>
        answers.append(time.milliseconds, Answers.counts("counts", rdd.collect()))
      }

  override val structured: Option[StreamSettings => StructuredQuery] =
    Some(settings => Windows.query(settings, Click.keyed(_, Click.Page)))
}

/**
 * Answer, per slide: `users`, how many users have a view in the batches of the window that ends
 * with this one. Structured Streaming has no exact distinct count of windows.
 */
object ActiveUserCount extends StreamJob("streaming-click-active-user-count", "clicks") {
  val summary = "how many users were active in a sliding window"
  val stresses = "a shuffle of the distinct users of each window"
  val published: String = s"windows of 15 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(15, 2, "15 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    lines
      .map(Click.of(_).user)
      .window(Milliseconds(settings.windowMs), Milliseconds(settings.slideMs))
      .foreachRDD { (rdd, time) =>
        answers.append(time.milliseconds, Json.obj().put("users", rdd.distinct().count()))
      }
}

/**
 * Joins each batch with a table of popular users: the numbers below `popular`, with names `user-N`.
 * Answer, per batch: `counts`, the views of each popular user, by name.
 */
object PopularUsersSeen extends StreamJob("streaming-click-popular-users-seen", "clicks") {
  val summary = "which users of a table are seen in each batch, and how often"
  val stresses = "a join of each batch with a small table: two shuffles"
  val published: String = Published.protocol
  override val own: Seq[Parameter] = Seq(Parameter.whole("popular", 100, "users in the table"))

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val known = table(settings)
    val names = lines.context.sparkContext.parallelize(known).cache()
    lines.map(Click.of(_).user -> 1L).foreachRDD { (rdd, time) =>
      val seen = rdd.join(names).map { case (_, (one, name)) => name -> one }.reduceByKey(_ + _)
      answers.append(time.milliseconds, Answers.counts("counts", seen.collect()))
    }
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    StructuredQuery(
      lines => {
        val names = lines.sparkSession.createDataFrame(
          table(settings).map { case (key, name) => Row(key, name) }.asJava,
          new StructType().add("key", StringType).add("name", StringType)
        )
        Click.keyed(lines, Click.User).join(names, "key")
      },
      "append",
      batch => seen(batch)
    )
  )

  private def seen(joined: DataFrame): ObjectNode = {
    val rows = joined.groupBy("name").count().collect()
    Answers.counts("counts", rows.map(row => row.getString(0) -> row.getLong(1)))
  }

  private def table(settings: StreamSettings): Seq[(String, String)] =
    (0 until settings.values.int("popular")).map(user => user.toString -> s"user-$user")
}
