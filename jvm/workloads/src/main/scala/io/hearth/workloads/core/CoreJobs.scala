package io.hearth.workloads.core

import io.hearth.workloads.Job

/** The jobs written on RDDs. */
object CoreJobs {
  val all: Seq[Job] = Seq(WordCount, Grep, Sort, GroupBy, SortBy, NaiveBayes)
}
