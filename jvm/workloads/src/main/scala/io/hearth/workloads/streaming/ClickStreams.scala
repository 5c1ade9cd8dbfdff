package io.hearth.workloads.streaming

import scala.jdk.CollectionConverters._

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
  override val published: String =
    s"windows of 30 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(30, 2, "30 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val zips = lines.map(Click.of).map(click => click.zip -> (1L, if (click.error) 1L else 0L))
    val sums = zips.reduceByKeyAndWindow(
      (a: (Long, Long), b: (Long, Long)) => (a._1 + b._1, a._2 + b._2),
      Milliseconds(settings.windowMs),
      Milliseconds(settings.slideMs)
    )
    answers.keep(sums) { rdd =>
      val pairs = rdd.collect().map { case (zip, (events, errors)) => zip -> Seq(events, errors) }
      Json.obj("zips" -> Json.obj(pairs.toSeq: _*))
    }
  }

  override val structured: Option[StreamSettings => StructuredQuery] =
    Some(settings => Windows.query(settings, Click.keyed(_, Click.Zip), errors = true))
}

/** Answer, per batch: `counts`, the views of each page in the batch. */
object PageCounts extends StreamJob("streaming-click-page-counts", "clicks") {
  val summary = "how often each page is viewed in each batch"
  val stresses = "task scheduling, a small shuffle"

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keepCounts("counts", lines.map(Click.of(_).page).countByValue())

  override val structured: Option[StreamSettings => StructuredQuery] = Some(_ =>
    StructuredQuery.ofBatches(Click.keyed(_, Click.Page))(batch =>
      Answers.counts("counts", batch.groupBy("key").count())
    )
  )
}

/** Answer: as the windowed word count, of pages. */
object SlidingPageCounts extends StreamJob("streaming-click-sliding-page-counts", "clicks") {
  val summary = "how often each page is viewed in a sliding window"
  val stresses = "a small shuffle for each slide over a window of blocks"
  override val published: String =
    s"windows of 10 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(10, 2, "10 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keepCounts("counts", Windows.sums(lines.map(Click.of(_).page -> 1L), settings))

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
  override val published: String =
    s"windows of 15 s every 2 s (Spark's example); ${Published.protocol}"
  override val windowed = true
  override val own: Seq[Parameter] = StreamSettings.window(15, 2, "15 s every 2 s")

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit =
    answers.keep(
      lines
        .map(Click.of(_).user)
        .window(Milliseconds(settings.windowMs), Milliseconds(settings.slideMs))
    )(rdd => Json.obj("users" -> rdd.distinct().count()))
}

/**
 * Joins each batch with a table of popular users: the numbers below `popular`, with names `user-N`.
 * Answer, per batch: `counts`, the views of each popular user, by name.
 */
object PopularUsersSeen extends StreamJob("streaming-click-popular-users-seen", "clicks") {
  val summary = "which users of a table are seen in each batch, and how often"
  val stresses = "a join of each batch with a small table: two shuffles"
  override val own: Seq[Parameter] = Seq(Parameter.whole("popular", 100, "users in the table"))

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val known = table(settings)
    val names = lines.context.sparkContext.parallelize(known).cache()
    answers.keep(lines.map(Click.of(_).user -> 1L)) { rdd =>
      val seen = rdd.join(names).map { case (_, (one, name)) => name -> one }.reduceByKey(_ + _)
      Answers.counts("counts", seen.collect())
    }
  }

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    StructuredQuery.ofBatches { lines =>
      val names = lines.sparkSession.createDataFrame(
        table(settings).map { case (key, name) => Row(key, name) }.asJava,
        new StructType().add("key", StringType).add("name", StringType)
      )
      Click.keyed(lines, Click.User).join(names, "key")
    }(joined => Answers.counts("counts", joined.groupBy("name").count()))
  )

  private def table(settings: StreamSettings): Seq[(String, String)] =
    (0 until settings.values.int("popular")).map(user => user.toString -> s"user-$user")
}
