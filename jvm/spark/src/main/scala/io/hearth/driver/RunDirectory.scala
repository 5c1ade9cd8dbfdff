package io.hearth.driver

import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path, StandardCopyOption}

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.files.{Homes, OwnFiles}
import io.hearth.core.json.Json
import io.hearth.core.placement.LentCpus

/**
 * What one application leaves behind: `run.json` (`contract/examples/run.json`), `plan.json`,
 * `placement.json`, `hand-over.json` and `executors/ID/{stdout,stderr}`.
 */
final class RunDirectory(val path: Path) {
  def run: Path = path.resolve("run.json")

  def executor(id: String): Path = path.resolve("executors").resolve(id)

  /** @return the executor's directory, made with the files of its output, which can be written */
  def createExecutor(id: String): Path = {
    val directory = OwnFiles.claim(executor(id))
    RunDirectory.Outputs.foreach(name => OwnFiles.empty(directory.resolve(name)))
    directory
  }

  /** Takes room for the last record of the run, for a disk that is full by then. */
  def reserve(): Unit = {
    Files.write(OwnFiles.empty(reserved), new Array[Byte](RunDirectory.ReservedBytes))
    ()
  }

  /** Gives that room back; the record is to be written next. */
  def release(): Unit = {
    Files.deleteIfExists(reserved)
    ()
  }

  private def reserved: Path = path.resolve(".reserved")

  def writeRun(document: JsonNode): Unit = write("run.json", document)
  def writePlan(document: JsonNode): Unit = write("plan.json", document)
  def writePlacement(document: JsonNode): Unit = write("placement.json", document)
  def writeLoans(document: JsonNode): Unit = write(LentCpus.File, document)

  /** A reader sees the old document or the new one, never a part. */
  private def write(name: String, document: JsonNode): Unit =
    OwnFiles.write(path.resolve(name), Json.pretty(document))
}

object RunDirectory {
  private val Outputs = Vector("stdout", "stderr")

  /** A record takes one to two blocks of a file system. */
  private val ReservedBytes = 16 * 1024

  /** Environment and home directory decide where they are kept (XDG Base Directory Specification). */
  def root(environment: String => Option[String], home: String): Path =
    Homes.state(environment, home).resolve("applications")

  /** What `hearth submit` has made for this process, if it started it: with its command and plan. */
  def submitted(root: Path, pid: Long, startTicks: Long): Option[Path] =
    Some(root.resolve(s"submit-$pid-$startTicks")).filter(Files.isDirectory(_, NOFOLLOW_LINKS))

  /**
   * Readable by its owner alone: command lines and logs may hold secrets.
   *
   * @param submitted becomes the application's directory
   * @throws java.nio.file.FileAlreadyExistsException where there is one of this id
   */
  def create(root: Path, appId: String, submitted: Option[Path] = None): RunDirectory = {
    OwnFiles.keep(root)
    val owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
    val directory = Files.createDirectory(root.resolve(appId), owner)
    // What has its name already is empty, and so is replaced at once.
    submitted.foreach(Files.move(_, directory, StandardCopyOption.ATOMIC_MOVE))
    new RunDirectory(directory)
  }
}
