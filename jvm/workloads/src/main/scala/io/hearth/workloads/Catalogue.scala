package io.hearth.workloads

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.workloads.core._
import io.hearth.workloads.data.Generator
import io.hearth.workloads.graph._
import io.hearth.workloads.ml._
import io.hearth.workloads.sql._
import io.hearth.workloads.streaming.StreamJobs

/** All jobs and generators, by name. */
object Catalogue {
  val jobs: Seq[Job] = Seq(
    Seq(WordCount, Grep, Sort, GroupBy, SortBy, NaiveBayes),
    Seq(KMeans, GaussianMixture, SparseNaiveBayes, LinearSvm, LogisticRegression),
    Seq(PageRank, ConnectedComponents, TriangleCount),
    Seq(Aggregation, Join, RddRelation, Tpch),
    StreamJobs.all
  ).flatten

  /** @throws UserError naming the nearest names */
  def job(name: String): Job =
    jobs.find(_.name == name).getOrElse(throw new UserError(unknown(name)))

  private def unknown(name: String): String =
    s"'$name' is not a job: the jobs are ${jobs.map(_.name).mkString(", ")}"

  def json: JsonNode =
    Json.obj("jobs" -> jobs.map(job), "generators" -> Generator.all.map(generator))

  private def job(job: Job): JsonNode = Json.obj(
    "name" -> job.name,
    "family" -> job.family,
    "summary" -> job.summary,
    "stresses" -> job.stresses,
    "published" -> job.published,
    "stream" -> job.stream,
    "parameters" -> job.parameters.map(parameter),
    "inputs" -> job.inputs.map(input)
  )

  private def generator(generator: Generator): JsonNode = Json.obj(
    "name" -> generator.name,
    "version" -> generator.version,
    "summary" -> generator.summary,
    "distribution" -> generator.distribution,
    "parameters" -> generator.parameters.map(parameter)
  )

  private def parameter(parameter: Parameter): JsonNode = Json.obj(
    "name" -> parameter.name,
    "default" -> parameter.default,
    "help" -> parameter.help,
    "published" -> parameter.published,
    "choices" -> parameter.choices
  )

  private def input(input: Input): JsonNode =
    Json.obj("name" -> input.name, "generator" -> input.generator, "shared" -> input.shared)
}
