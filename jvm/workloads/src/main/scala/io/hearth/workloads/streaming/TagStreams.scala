package io.hearth.workloads.streaming

import org.apache.spark.streaming.dstream.DStream

import io.hearth.workloads.{Json, Parameter}

/**
 * Tags are the words of a message `number<TAB>user<TAB>words` that begin with #. Follows Spark's
 * example of popular hash tags, which Awan 2016 ran.
 *
 * Answer, per slide and for each of the two windows: `window_ms`, and `top`, the pairs [tag, count]
 * of the most frequent tags in the batches of the window that ends with this one; the first in
 * alphabetical order where counts are equal. One connection feeds both windows, which two
 * structured queries could not share: DStreams only.
 */
object PopularTags extends StreamJob("streaming-popular-tags", "tags") {
  val summary = "the most frequent tags of two sliding windows, one long and one short"
  val stresses = "blocks kept for a minute; two shuffles and a sort for each slide"
  override val published: String = s"windows of 60 s and 10 s; ${Published.protocol}"
  override val windowed = true
  override val otherWindows: Seq[String] = Seq("short-window-s")
  override val own: Seq[Parameter] = StreamSettings.window(60, 2, "60 s every 2 s") ++ Seq(
    Parameter.whole("short-window-s", 10, "length of the short window", "10"),
    Parameter.whole("top", 10, "tags to report", "10")
  )

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val tags = lines.flatMap(_.split("[\t ]")).filter(_.startsWith("#")).map(_ -> 1L)
    val top = settings.values.int("top")
    Seq(settings.windowMs, settings.values.long("short-window-s") * 1000).foreach { windowMs =>
      val ranked = Windows
        .sums(tags, windowMs, settings.slideMs)
        .map { case (tag, count) => (-count, tag) }
        .transform(_.sortBy(identity))
      answers.keep(ranked) { rdd =>
        val pairs = rdd.take(top).map { case (count, tag) => Seq[Any](tag, -count) }
        Json.obj("window_ms" -> windowMs, "top" -> pairs)
      }
    }
  }
}
