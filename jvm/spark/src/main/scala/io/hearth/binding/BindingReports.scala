package io.hearth.binding

import java.nio.file.{Files, Path}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.Terminal
import io.hearth.core.files.OwnFiles
import io.hearth.core.json.Json
import io.hearth.driver.{BestEffort, Log, UiTable}

/**
 * The driver's half: what its executors have told, as a table in its log and as a document of its own
 * (contract/binding.schema.json).
 *
 * @param appId is known when the first executor starts
 * @param directory holds a document of each application, the newest `kept` ones
 */
final class BindingReports(
    appId: () => String,
    name: String,
    directory: Path,
    max: Int,
    bestEffort: BestEffort,
    log: Log
) {
  private var all = VectorMap.empty[String, JsonNode]
  private var shown = Set.empty[String]

  def file: Path = directory.resolve(s"${appId().replaceAll("[^A-Za-z0-9_.-]", "_")}.json")

  /**
   * @return why the executor does not have what it should, as [[Outcome.refusal]]
   * Throws UserError where it is none
   */
  def add(text: String): Option[String] = synchronized {
    val report = Json.parse(text, "an executor's binding report")
    all = all.updated(report.path("executor_id").asText, report)
    Option(report.get("refusal")).map(_.asText)
  }

  /** Writes the document, and shows those executors that have reported since the last time. */
  def publish(): Unit = synchronized {
    val fresh = all.filterNot { case (id, _) => shown(id) }
    if (fresh.nonEmpty) {
      shown = all.keySet
      log.info(
        Terminal
          .table(BindingReports.Columns +: fresh.values.map(BindingReports.row).toVector)
          .mkString("Executors:\n", "\n", "")
      )
      fresh.foreach { case (id, report) =>
        report.path("warnings").elements.asScala.foreach { warning =>
          log.warn(s"Executor $id on ${report.path("machine").asText}: ${warning.asText}")
        }
      }
      val _ = bestEffort.attempt(write())
    }
  }

  /** For the driver's UI. */
  def uiTable: UiTable = synchronized {
    val note = "What each executor told the driver when it started."
    UiTable(
      "Executors that bind themselves",
      note,
      BindingReports.Columns,
      all.values.map(BindingReports.row).toVector
    )
  }

  private def write(): Unit = {
    OwnFiles.keep(directory)
    val document = Json.obj(
      "schema" -> BindingReports.Schema,
      "app_id" -> appId(),
      "name" -> name,
      "executors" -> all.values
    )
    OwnFiles.write(file, Json.pretty(document))
    forget()
  }

  private def forget(): Unit = {
    val files = Using.resource(Files.list(directory))(
      _.iterator.asScala.filter(_.toString.endsWith(".json")).toVector
    )
    files.sortBy(Files.getLastModifiedTime(_)).dropRight(max).foreach(Files.deleteIfExists(_))
  }
}

object BindingReports {
  val Schema = "hearth/binding/1"

  /** What an executor tells its driver: text, which both sides read whatever their class paths are. */
  def report(executorId: String, machine: String, pid: Long, outcome: Outcome): ObjectNode =
    Json.obj(
      "executor_id" -> executorId,
      "machine" -> machine,
      "pid" -> pid,
      "state" -> outcome.state.name,
      "sentence" -> outcome.sentence,
      "cpus" -> outcome.place.cpus,
      "memory_nodes" -> outcome.place.memoryNodes,
      "refusal" -> outcome.refusal,
      "kernel" -> outcome.kernel.toOption.map(actual =>
        Json.obj(
          "cpus_allowed" -> actual.cpusAllowed,
          "threads" -> actual.threads.size,
          "mems_allowed" -> actual.memsAllowed,
          "anonymous_bytes" -> actual.anonymousBytes
        )
      ),
      "warnings" -> outcome.warnings
    )

  private val Columns =
    Vector("executor", "machine", "pid", "state", "CPUs allowed", "anonymous memory", "")

  private def row(report: JsonNode): Vector[String] = {
    val kernel = report.path("kernel")
    val bytes = kernel.path("anonymous_bytes")
    val memory =
      bytes.fieldNames.asScala.map(id => s"node $id: ${bytes.path(id).asLong >> 20} MB")
    Vector("executor_id", "machine", "pid", "state").map(report.path(_).asText) ++ Vector(
      kernel.path("cpus_allowed").asText("-"),
      memory.mkString(", "),
      report.path("sentence").asText
    )
  }
}
