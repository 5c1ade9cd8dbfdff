package io.hearth.driver

import java.io.IOException
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.{Files, InvalidPathException, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.IoReason
import io.hearth.core.files.OwnFiles
import io.hearth.core.json.Json
import io.hearth.core.leases.DirectoryUse
import io.hearth.core.placement.PlacementReport
import io.hearth.core.plan.{BindingMode, HostNames, Launcher}

/** How far a run has come, in its record. */
sealed abstract class RunState(val name: String)

object RunState {
  case object Running extends RunState("running")
  case object Finished extends RunState("finished")

  /** The driver was killed. */
  case object Abandoned extends RunState("abandoned")
}

/**
 * `run.json` of a [[RunDirectory]].
 *
 * @param machine its host name: a home directory may be shared, and a process id means nothing elsewhere
 * @param scratch directories that go when the application ends: of the executors and of the driver
 * @param work what its tasks did, once it has ended
 */
final case class RunRecord(
    appId: String,
    name: String,
    master: String,
    sparkVersion: String,
    machine: String,
    driverPid: Long,
    driverStartTicks: Long,
    startedAt: Instant,
    state: RunState,
    hosts: HostNames,
    binding: BindingMode,
    launcher: Launcher,
    ui: Option[String],
    scratch: Vector[Path],
    work: Option[JsonNode] = None
) {

  def toJson: ObjectNode = Json.obj(
    "schema" -> RunRecord.Schema,
    "app_id" -> appId,
    "name" -> name,
    "master" -> master,
    "spark_version" -> sparkVersion,
    "state" -> state.name,
    "started_at" -> startedAt.toString,
    "machine" -> machine,
    "driver_pid" -> driverPid,
    "driver_start_ticks" -> driverStartTicks,
    "hosts" -> hosts.name,
    "binding" -> binding.name,
    "launcher" -> launcher.name,
    "pid_namespace" -> RunRecord.pidNamespace,
    "ui" -> ui,
    "scratch" -> scratch.map(_.toString),
    "work" -> work
  )
}

object RunRecord {
  val Schema = "hearth/run/1"

  def thisMachine: String = Files.readString(Path.of("/proc/sys/kernel/hostname")).trim

  /** Where process ids have the meaning that they have here: a container may have this machine's name. */
  def pidNamespace: Option[String] =
    Try(Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString).toOption
}

/** Clears up behind drivers that were killed together with their reaper, and old runs. */
object RunSweep {

  /**
   * @param root all runs
   * @param max how many ended runs stay
   * @return what was done, a sentence each
   */
  def sweep(root: Path, max: Int, delete: Path => Unit): Vector[String] =
    if (!Files.isDirectory(root)) Vector.empty
    else {
      // In a shared place a record of somebody else's must not say what is deleted here.
      val ours = directories(root).filter(dir => OwnFiles.trusted(dir.resolve("run.json")))
      val runs = ours.flatMap(dir => record(dir).map(dir -> _))
      val (running, ended) = runs.partition { case (_, run) =>
        run.path("state").asText == RunState.Running.name
      }
      val left = running.filter { case (_, run) => isSeenHere(run) && !driverAlive(run) }
      left.flatMap { case (dir, run) => abandon(dir, run, delete) } ++ forget(ended, max, delete)
    }

  private def abandon(dir: Path, run: ObjectNode, delete: Path => Unit): Vector[String] = {
    val scratch = run.path("scratch").elements.asScala.flatMap(p => path(p.asText)).toVector
    val left = scratch.filter(p => removable(p) && Files.exists(p))
    val (removed, notes) = left.partitionMap(p => remove(p, delete).toRight(p))
    val marked = failing(s"mark ${dir.getFileName} as abandoned")(
      new RunDirectory(dir).writeRun(run.put("state", RunState.Abandoned.name))
    )
    removed.map(p => s"removed $p, left behind by ${dir.getFileName}, whose driver was killed") ++
      notes ++ marked
  }

  /** Another application of the same id, with its record elsewhere, may use it now. @return why it stays */
  private def remove(left: Path, delete: Path => Unit): Option[String] =
    DirectoryUse.take(left) match {
      case Left(who) => Some(s"$left stays: $who uses it")
      case Right(use) => Using.resource(use)(_ => failing(s"remove $left")(delete(left)))
    }

  /** @return why it could not be done, where it could not */
  private def failing(what: String)(work: => Unit): Option[String] =
    try {
      work
      None
    } catch {
      case e: IOException => Some(s"cannot $what: ${IoReason(e)}")
    }

  private def path(text: String): Option[Path] =
    try Some(Path.of(text))
    catch { case _: InvalidPathException => None }

  /** What hearth or Spark itself named, and nobody else: a record is a file, and files can be wrong. */
  private def removable(path: Path): Boolean =
    Option(path.getFileName).map(_.toString).exists { name =>
      name.startsWith("hearth-") ||
      name.matches("[a-z_-]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    }

  private def forget(
      ended: Vector[(Path, ObjectNode)],
      max: Int,
      delete: Path => Unit
  ): Vector[String] = {
    val oldest = ended.sortBy(_._2.path("started_at").asText).dropRight(max).map(_._1)
    oldest.map { dir =>
      failing(s"remove the record of ${dir.getFileName}")(delete(dir)).getOrElse(
        s"removed the record of ${dir.getFileName}: more than $max ended runs were kept"
      )
    }
  }

  /** Whether its driver would be among this process's processes. */
  private def isSeenHere(run: JsonNode): Boolean =
    run.path("machine").asText(RunRecord.thisMachine) == RunRecord.thisMachine &&
      RunRecord.pidNamespace.forall(namespace =>
        run.path("pid_namespace").asText(namespace) == namespace
      )

  private def driverAlive(run: JsonNode): Boolean =
    PlacementReport
      .startTicks(Path.of("/proc"), run.path("driver_pid").asLong)
      .contains(run.path("driver_start_ticks").asLong)

  private def directories(root: Path): Vector[Path] =
    Using.resource(Files.list(root))(
      _.iterator.asScala.filter(Files.isDirectory(_, NOFOLLOW_LINKS)).toVector
    )

  /** None for what is no record that hearth wrote: it is left alone. */
  private def record(dir: Path): Option[ObjectNode] = {
    val file = dir.resolve("run.json")
    val read = Try(Option.when(Files.isRegularFile(file) && Files.size(file) < MaxBytes) {
      Json.parse(Files.readString(file), dir.toString)
    }).toOption.flatten
    read.collect {
      case run: ObjectNode if Vector("state", "started_at").forall(run.path(_).isTextual) => run
    }
  }

  /** A record has some kilobytes. */
  private val MaxBytes = 1L << 20
}
