package io.hearth.workloads.sql

import io.hearth.workloads.Job

object SqlJobs {
  val all: Seq[Job] = Seq(Aggregation, Join, RddRelation, Tpch)
}
