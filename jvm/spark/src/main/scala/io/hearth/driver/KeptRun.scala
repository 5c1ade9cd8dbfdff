package io.hearth.driver

import java.io.IOException
import java.nio.file.{FileAlreadyExistsException, Files, Path}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.UserError
import io.hearth.core.placement.PlacementReport

/**
 * The record of a run and its executors' logs. Where the record cannot be kept the logs still need a
 * place: one beside the scratch directories, which goes when the application ends.
 *
 * @param root where all runs are; may fail as the record may
 * @param submitted what `hearth submit` has made there for this driver
 * @param describe the record at this moment
 */
final class KeptRun(
    root: () => Path,
    appId: String,
    scratch: ScratchDirectories,
    submitted: Path => Option[Path],
    describe: RunState => RunRecord,
    reaper: Reaper,
    bestEffort: BestEffort,
    remove: Path => Unit
) {

  /** @param stays whether it is kept when the application ends */
  private case class OpenedRun(directory: RunDirectory, stays: Boolean)
  private val opened = new AtomicReference[Option[OpenedRun]](None)
  // Written by the pool's thread, read by the UI's.
  private val logDirectories = new ConcurrentHashMap[String, Path]()

  /** Throws UserError where an earlier run has this application's id */
  def open(plan: JsonNode): Path = {
    val run =
      bestEffort
        .attempt(create())
        .fold(OpenedRun(createBeside(), stays = false))(OpenedRun(_, stays = true))
    opened.set(Some(run))
    bestEffort.attempt(run.directory.writePlan(plan))
    write(RunState.Running)
    bestEffort.attempt(run.directory.reserve())
    reaper.markAbandoned(run.directory.run)
    run.directory.path
  }

  /** Writes the record anew: there is more to remove should this driver be killed. */
  def update(): Unit = write(RunState.Running)

  def placement(report: PlacementReport): Unit = attempt(_.writePlacement(report.toJson))

  def loans(record: JsonNode): Unit = attempt(_.writeLoans(record))

  /** In the run's directory; where that is full, in the executor's scratch directory. */
  def createLogs(executorId: String): Path = {
    val created =
      opened.get.flatMap(at => bestEffort.attempt(at.directory.createExecutor(executorId)))
    val directory = created.getOrElse(Files.createDirectories(scratch.logs(executorId)))
    logDirectories.put(executorId, directory)
    directory
  }

  /** Of an executor that was never started, where they would have been. */
  def logsOf(executorId: String): Path =
    logDirectories.getOrDefault(executorId, scratch.logs(executorId))

  def close(): Unit = opened.get.foreach { at =>
    attempt(_.release())
    write(RunState.Finished)
    if (!at.stays) bestEffort.attempt(remove(at.directory.path))
  }

  private def write(state: RunState): Unit = attempt(_.writeRun(describe(state).toJson))

  private def attempt(what: RunDirectory => Unit): Unit =
    opened.get.foreach(at => bestEffort.attempt(what(at.directory)))

  private def create(): RunDirectory = {
    val all = root()
    try RunDirectory.create(all, appId, submitted(all))
    catch {
      case e: FileAlreadyExistsException =>
        throw new UserError(
          s"spark.app.id: '$appId' is the name of an earlier run in $all; choose another, or leave it out",
          Some(e)
        )
    }
  }

  private def createBeside(): RunDirectory =
    try {
      val parent = Files.createDirectories(scratch.roots.head.getParent)
      val directory = Files.createTempDirectory(parent, "hearth-run-")
      reaper.removeLater(directory)
      new RunDirectory(directory)
    } catch { case e: IOException => throw ScratchDirectories.unusable(scratch.roots.head, e) }
}
