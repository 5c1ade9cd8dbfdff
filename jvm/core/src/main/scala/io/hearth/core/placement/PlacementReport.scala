package io.hearth.core.placement

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.{Terminal, UserError}
import io.hearth.core.json.Json
import io.hearth.core.launch.Binding
import io.hearth.core.procfs.ProcStat
import io.hearth.core.topology.IdSet

/**
 * An executor process and where it should be.
 *
 * @param startTicks field 22 of `/proc/PID/stat`: another process with this id has another value
 * @param planned its place in the plan; without memory nodes where its CPUs alone could be bound
 * @param bound whether it was bound when started; one that was not cannot drift
 * @param lent CPUs of other places that it may use for a while
 */
final case class Subject(
    executorId: String,
    place: Int,
    host: String,
    pid: Long,
    startTicks: Long,
    planned: Binding,
    bound: Boolean,
    lent: IdSet = IdSet.empty
)

/** @param reading absent when the process is gone; `Left` when the kernel did not let it be read */
final case class Finding(subject: Subject, reading: Option[Either[String, ProcessPlacement]]) {

  def drift: Vector[Deviation] =
    boundReading.fold(Vector.empty[Deviation])(
      PlacementCheck.drift(subject.planned, _, subject.lent)
    )

  /** What is worth knowing but not drift, one sentence each. */
  def notes: Vector[String] =
    boundReading.fold(Vector.empty[String])(PlacementCheck.notes(subject.planned, _, subject.lent))

  private def boundReading: Option[ProcessPlacement] =
    reading.flatMap(_.toOption).filter(_ => subject.bound)

  /** One line for a log: what deviates, and how to put threads back. */
  def warning: String = {
    val s = subject
    s"Executor ${s.executorId} has drifted from place ${s.place}: it " +
      s"${drift.map(_.sentence).mkString("; it ")}. `taskset -acp ${s.planned.cpus} ${s.pid}` puts threads " +
      "back if they have been pinned elsewhere; `hearth status` shows where it is now"
  }

  def verdict: PlacementVerdict = reading match {
    case None => PlacementVerdict.Gone
    case Some(Left(_)) => PlacementVerdict.Unreadable
    case Some(Right(_)) if !subject.bound => PlacementVerdict.Unbound
    case Some(Right(_)) =>
      if (drift.nonEmpty) PlacementVerdict.Drift
      else if (subject.planned.memoryNodes.isEmpty) PlacementVerdict.CpusAsPlanned
      else PlacementVerdict.AsPlanned
  }
}

/** The placement of all executors of an application at one moment (`hearth schema placement`). */
final case class PlacementReport(appId: String, takenAt: Instant, findings: Vector[Finding]) {

  def toJson: ObjectNode = Json.obj(
    "schema" -> PlacementReport.Schema,
    "app_id" -> appId,
    "taken_at" -> takenAt.toString,
    "executors" -> findings.map(PlacementReport.findingJson)
  )

  /** A table for a log or a terminal. */
  def table: Vector[String] = {
    val header =
      Vector("executor", "place", "pid", "CPUs allowed", "policy", "anonymous memory", "verdict")
    Terminal.table(header +: findings.map(PlacementReport.row))
  }
}

object PlacementReport {
  val Schema = "hearth/placement/2"

  /** @param root where procfs and sysfs are: `/` on a live machine */
  def take(root: Path, appId: String, subjects: Vector[Subject]): PlacementReport =
    PlacementReport(appId, Instant.now(), subjects.map(s => Finding(s, read(root, s))))

  /**
   * Reads again where the executors of an earlier report are now.
   *
   * @throws UserError if there is none
   */
  def retake(root: Path, runDirectory: Path): PlacementReport = {
    val file = runDirectory.resolve("placement.json")
    val text = Try(Files.readString(file)).getOrElse(
      throw new UserError(
        s"$file cannot be read: name the directory of a run, as listed by `hearth status`"
      )
    )
    val document = Json.parse(text, file.toString)
    if (document.path("schema").asText != Schema)
      throw new UserError(
        s"$file is not a placement report ($Schema): it is damaged, or a different file"
      )
    val lent = LentCpus.toExecutors(runDirectory)
    val subjects = document.path("executors").elements.asScala.map(subject).toVector
    take(
      root,
      document.path("app_id").asText,
      subjects.map(s => s.copy(lent = lent.getOrElse(s.executorId, IdSet.empty)))
    )
  }

  /** Field 22 of `/proc/PID/stat`; absent when the process is gone or a zombie. */
  def startTicks(proc: Path, pid: Long): Option[Long] =
    ProcStat.read(proc.resolve(s"$pid")).filter(_.state != 'Z').map(_.startTicks)

  private def read(root: Path, subject: Subject): Option[Either[String, ProcessPlacement]] =
    startTicks(root.resolve("proc"), subject.pid)
      .filter(_ == subject.startTicks)
      .flatMap(_ => ProcessPlacement.read(root, subject.pid))

  private def subject(node: JsonNode): Subject = Subject(
    node.path("executor_id").asText,
    node.path("place").asInt,
    node.path("host").asText,
    node.path("pid").asLong,
    node.path("start_ticks").asLong,
    Binding(ids(node, "planned_cpus"), ids(node, "planned_memory_nodes")),
    node.path("bound").asBoolean
  )

  private def ids(node: JsonNode, name: String): IdSet =
    IdSet.parse(node.path(name).asText).fold(e => throw new UserError(s"$name: $e"), identity)

  private def findingJson(finding: Finding): ObjectNode = {
    val s = finding.subject
    Json.obj(
      "executor_id" -> s.executorId,
      "place" -> s.place,
      "host" -> s.host,
      "pid" -> s.pid,
      "start_ticks" -> s.startTicks,
      "bound" -> s.bound,
      "planned_cpus" -> s.planned.cpus,
      "planned_memory_nodes" -> s.planned.memoryNodes,
      "lent_cpus" -> Option.when(s.lent.nonEmpty)(s.lent),
      "verdict" -> finding.verdict.text,
      "drift" -> finding.drift.map(_.sentence),
      "notes" -> finding.notes,
      "kernel" -> finding.reading.flatMap(_.toOption).map(kernelJson),
      "unreadable" -> finding.reading.flatMap(_.left.toOption)
    )
  }

  private def kernelJson(actual: ProcessPlacement): ObjectNode = Json.obj(
    "cpus_allowed" -> actual.cpusAllowed,
    "cpus_online" -> actual.cpusOnline,
    "threads" -> actual.threads.size,
    "mems_allowed" -> actual.memsAllowed,
    "policies" -> Json.obj(actual.policies.toVector.sorted.map { case (policy, areas) =>
      policy -> (areas: Json.Value)
    }: _*),
    "anonymous_bytes" -> actual.anonymousBytes,
    "threads_on_cpu" -> actual.threadsOnCpu
  )

  private def row(finding: Finding): Vector[String] = {
    val s = finding.subject
    val kernel = finding.reading.flatMap(_.toOption)
    Vector(
      s.executorId,
      s.place.toString,
      s.pid.toString,
      kernel.fold("-")(_.cpusAllowed.toString),
      kernel.fold("-")(_.policies.keys.toVector.sorted.mkString(" ")),
      kernel.fold("-")(memoryCell),
      if (finding.drift.isEmpty) finding.verdict.text
      else finding.drift.map(_.sentence).mkString("drift: ", "; ", "")
    )
  }

  private def memoryCell(actual: ProcessPlacement): String =
    actual.anonymousBytes.toVector.sorted
      .map { case (node, bytes) => s"node $node: ${bytes / (1024 * 1024)} MB" }
      .mkString(", ")
}
