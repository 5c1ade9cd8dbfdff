package io.hearth.driver

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.placement.PlacementReport

/**
 * What belongs to one application while it runs, opened and closed in order: the reaper that outlives it,
 * its record, its scratch directories, the class-data archive of its executors.
 *
 * @param check whether everything is there that its executors need. @throws io.hearth.core.UserError
 * @param sweep clears up behind earlier applications; what it did, a sentence each
 * @param plan as it may be kept
 */
final class RunningApplication(
    check: () => Unit,
    sweep: () => Vector[String],
    plan: JsonNode,
    parts: RunningApplication.Parts,
    log: Log
) {
  import parts._

  /** Makes the record and the scratch directories; no executor is started yet. @throws UserError */
  def open(): Unit = {
    check()
    bestEffort.attempt(sweep()).foreach(_.foreach(log.info))
    reaper.open()
    val directory = run.open(plan)
    scratch.open()
    scratch.warning.foreach(log.warn)
    nameDriversDirectories()
    archive.open()
    log.info(s"The record of this run is in $directory")
  }

  def placementTaken(report: PlacementReport): Unit = {
    run.placement(report)
    nameDriversDirectories()
  }

  /** All executors have ended. What was never opened is not closed. */
  def close(): Unit = {
    ended.close()
    scratch.close()
    run.close()
    reaper.close()
  }

  /** The next application removes them should the reaper be killed too: they stand in the record. */
  private def nameDriversDirectories(): Unit = if (drivers.nameNew()) run.update()
}

object RunningApplication {
  final case class Parts(
      bestEffort: BestEffort,
      reaper: Reaper,
      run: KeptRun,
      scratch: ScratchDirectories,
      ended: EndedExecutors,
      drivers: DriverDirectories,
      archive: ArchiveWriting
  )
}
