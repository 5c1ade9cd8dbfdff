package io.hearth.workers

import java.nio.file.Path

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.json.{Field, Json}
import io.hearth.core.plan.PlanRequest

/**
 * What `hearth workers start` asks for (`hearth schema workers-request`).
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

  /** Throws UserError naming the field that is absent or wrong */
  def read(document: JsonNode): WorkersRequest = {
    val root = Field.of(document, "the request for workers", "`hearth schema workers-request`")
    root.schemaIs(Schema)
    WorkersRequest(
      root("name").text,
      root("master").text,
      Path.of(root("directory").text),
      PlanRequest.read(root("plan").value),
      root("java").text,
      root("class_path").texts,
      root("memory_mb").long,
      root("java_options").texts,
      root("arguments").texts
    )
  }

  def parse(text: String): WorkersRequest = read(Json.parse(text, "the request for workers"))
}
