package io.hearth.workloads

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.workloads.core.CoreJobs
import io.hearth.workloads.data.{DataSet, Generator}
import io.hearth.workloads.graph.GraphJobs
import io.hearth.workloads.ml.LearningJobs
import io.hearth.workloads.sql.SqlJobs
import io.hearth.workloads.streaming.StreamJobs

/** All jobs and generators, by name. */
object Catalogue {
  val jobs: Seq[Job] =
    CoreJobs.all ++ LearningJobs.all ++ GraphJobs.all ++ SqlJobs.all ++ StreamJobs.all

  /** @throws UserError naming the nearest names */
  def job(name: String): Job =
    jobs.find(_.name == name).getOrElse(throw new UserError(unknown(name)))

  private def unknown(name: String): String =
    s"'$name' is not a job: the jobs are ${jobs.map(_.name).mkString(", ")}"

  def json: JsonNode = {
    val root = Json.obj()
    root.set[JsonNode]("jobs", Json.array(jobs.map(job)))
    root.set[JsonNode]("generators", Json.array(Generator.all.map(generator)))
    root
  }

  private def job(job: Job): JsonNode = {
    val node = Json
      .obj()
      .put("name", job.name)
      .put("family", job.family.name)
      .put("summary", job.summary)
      .put("stresses", job.stresses)
      .put("published", job.published)
    job.stream.foreach(node.put("stream", _))
    node.set[JsonNode]("parameters", Json.array(job.parameters.map(parameter)))
    node.set[JsonNode]("inputs", Json.array(job.inputs.map(input)))
    node
  }

  private def generator(generator: Generator): JsonNode = {
    val node = Json
      .obj()
      .put("name", generator.name)
      .put("version", generator.version)
      .put("summary", generator.summary)
      .put("distribution", generator.distribution)
      .put("least_bytes", DataSet.LeastBytes)
    node.set[JsonNode]("parameters", Json.array(generator.parameters.map(parameter)))
    node
  }

  private def parameter(parameter: Parameter): JsonNode = {
    val node = Json
      .obj()
      .put("name", parameter.name)
      .put("default", parameter.default)
      .put("help", parameter.help)
      .put("published", parameter.published)
    node.set[JsonNode]("choices", Json.strings(parameter.choices))
    node
  }

  private def input(input: Input): JsonNode = {
    val node = Json.obj().put("name", input.name).put("generator", input.generator)
    node.set[JsonNode]("shared", Json.strings(input.shared))
    node
  }
}
