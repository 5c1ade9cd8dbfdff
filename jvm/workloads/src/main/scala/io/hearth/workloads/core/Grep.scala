package io.hearth.workloads.core

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/** Keeps the lines that hold a text: one pass over the input, no shuffle (Awan 2016, Kyong 2017). */
object Grep extends Job {
  val name = "grep"
  val family = "core"
  val summary = "the lines of a text that hold a given word or part of one"
  val stresses = "reading and scanning; no shuffle, little memory"
  val published = "about 6 GB of text (Awan 2016); on up to 120 cores (Kyong 2017)"
  val parameters = Seq(
    Parameter(
      "pattern",
      "the",
      "the literal text to look for, not a regular expression",
      check = value => if (value.nonEmpty) None else Some("at least one character")
    )
  )
  val inputs = Seq(Input("text", "text"))

  /** The lines are written to files. */
  def run(run: JobRun): ObjectNode = {
    val context = run.session.sparkContext
    val pattern = run.settings.text("pattern")
    run.phase("search") {
      val lines = context.textFile(run.input("text")).filter(_.contains(pattern))
      lines.saveAsTextFile(run.output("lines"))
    }
    Json.obj("lines" -> context.textFile(run.output("lines")).count())
  }
}
