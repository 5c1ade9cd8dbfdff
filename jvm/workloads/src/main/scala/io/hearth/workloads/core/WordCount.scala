package io.hearth.workloads.core

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/** Counts the words of a text: map, combine, shuffle, reduce (Awan 2016, Kyong 2017). */
object WordCount extends Job {
  val name = "word-count"
  val family = "core"
  val summary = "how often each word of a text occurs"
  val stresses = "CPU of the map side (splitting lines), memory allocation; a small shuffle"
  val published = "about 6 GB of text (Awan 2016); on up to 120 cores (Kyong 2017)"
  val parameters = Seq(
    Parameter.whole("partitions", 0, "reduce partitions; 0: as Spark chooses", min = 0)
  )
  val inputs = Seq(Input("text", "text"))

  /** The counts are written to files: `word TAB count`. */
  def run(run: JobRun): ObjectNode = {
    val context = run.session.sparkContext
    val words =
      context.textFile(run.input("text")).flatMap(_.split(' ')).filter(_.nonEmpty).map(_ -> 1L)
    run.phase("count") {
      val counts =
        run.settings
          .chosen("partitions")
          .fold(words.reduceByKey(_ + _))(words.reduceByKey(_ + _, _))
      counts.map { case (word, count) => s"$word\t$count" }.saveAsTextFile(run.output("counts"))
    }
    val counts =
      context.textFile(run.output("counts")).map(line => line.drop(line.indexOf('\t') + 1).toLong)
    val (distinct, total) = counts
      .map((1L, _))
      .fold((0L, 0L)) { case ((words, sum), (more, count)) => (words + more, sum + count) }
    Json.obj("distinct_words" -> distinct, "words" -> total)
  }
}
