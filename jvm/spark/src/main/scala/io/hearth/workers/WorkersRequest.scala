package io.hearth.workers

import java.nio.file.Path

import io.hearth.core.json.Json
import io.hearth.core.plan.PlanRequest
import io.hearth.core.{Brief, UserError}

import com.fasterxml.jackson.databind.JsonNode

import scala.jdk.CollectionConverters._

/**
 * What `hearth workers start` asks for (contract/workers-request.schema.json).
 *
 * @param name of this set of workers, on this machine
 * @param master of the standalone cluster, such as `spark://HOST:7077`
 * @param directory where its state and its workers' logs are
 * @param memoryMb the heap of a Worker's own JVM (`SPARK_DAEMON_MEMORY`)
 * @param javaOptions of a Worker's JVM (`SPARK_DAEMON_JAVA_OPTS`, `SPARK_WORKER_OPTS`)
 * @param arguments further ones of Spark's Worker
 */
final case class WorkersRequest(
    name: String,
    master: String,
    directory: Path,
    plan: PlanRequest,
    java: String,
    classPath: Vector[String],
    memoryMb: Long,
    javaOptions: Vector[String],
    arguments: Vector[String]
) {

  /** The directory of a place. */
  def folder(place: Int): Path = directory.resolve(s"place-$place")
}

object WorkersRequest {
  val Schema = "hearth/workers-request/1"

  /** @throws UserError naming the field that is absent or wrong */
  def read(document: JsonNode): WorkersRequest = {
    def refuse(field: String, problem: String) =
      throw new UserError(s"the request for workers: '${Brief(field)}' $problem")
    def child(field: String) =
      Option(document.get(field)).getOrElse(refuse(field, "is absent"))
    def text(field: String) =
      if (child(field).isTextual) child(field).asText else refuse(field, "is not a text")
    def texts(field: String) =
      if (child(field).isArray) child(field).iterator.asScala.map(_.asText).toVector
      else refuse(field, "is not a list")
    if (text("schema") != Schema) refuse("schema", s"is not '$Schema'")
    if (!child("memory_mb").canConvertToLong) refuse("memory_mb", "is not a whole number")
    WorkersRequest(
      text("name"),
      text("master"),
      Path.of(text("directory")),
      PlanRequest.read(child("plan")),
      text("java"),
      texts("class_path"),
      child("memory_mb").asLong,
      texts("java_options"),
      texts("arguments")
    )
  }

  def parse(text: String): WorkersRequest = read(Json.parse(text, "the request for workers"))
}
