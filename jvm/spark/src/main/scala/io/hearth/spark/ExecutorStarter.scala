package io.hearth.spark

import java.nio.file.Path

import scala.util.control.NonFatal

import io.hearth.core.UserError
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.launch.LaunchSpec
import io.hearth.core.plan.ExecutorPlan

/**
 * What all executors of an application are started with.
 *
 * @param hostOf the name under which the executor of a place registers
 * @param resourcesFile writes the file that names a place's share of custom resources, where there are any
 * @param startsIn where an executor with a directory of its own starts
 * @param logUrl where the driver's UI serves the log of an executor; absent without a UI
 */
final case class ExecutorSettings(
    application: ApplicationLaunch,
    binding: BindingMode,
    hostOf: ExecutorPlan => String,
    resourcesFile: (ExecutorPlan, Path) => Option[Path],
    startsIn: Path => Path,
    logUrl: String => Option[String => String]
)

/** Starts an executor in its place, bound as `spark.hearth.binding` says. */
final class ExecutorStarter(
    settings: ExecutorSettings,
    jvms: JvmStarter,
    kernel: Kernel,
    scratch: ScratchDirectories,
    run: KeptRun,
    archive: ArchiveWriting,
    clearing: Clearing,
    log: Log
) {

  /** @throws UserError when the kernel refuses the binding and the user did not allow to go on without */
  def start(id: String, place: ExecutorPlan): Member = {
    val logs = run.createLogs(id)
    scratch.createFor(id)
    val member =
      try launch(id, place, logs)
      catch {
        case NonFatal(e) =>
          archive.notStarted(id)
          throw e
      }
    clearing.watch(member.process.pid, member.startTicks)
    val where =
      if (member.bound) s"bound to CPUs ${place.cpus}, memory nodes ${place.memoryNodes}"
      else "not bound"
    log.info(
      s"Started executor $id in place ${place.id} as process ${member.process.pid}, $where"
    )
    member
  }

  private def launch(id: String, place: ExecutorPlan, logs: Path): Member = {
    val options = archive.optionsFor(id)
    val resources = settings.resourcesFile(place, scratch.workDirectory(id))
    def spec(bound: Boolean) =
      ExecutorLaunch.compose(
        settings.application,
        describe(id, place, logs, bound),
        options,
        resources
      )
    val (process, bound) =
      if (settings.binding == BindingMode.Off) (jvms.start(spec(bound = false), id), false)
      else startBound(id, spec(bound = true), spec(bound = false))
    Member(id, place, process, kernel.startTicks(process.pid), bound)
  }

  /** @param unbound what runs where the kernel refuses the binding and the user allowed that */
  private def startBound(id: String, spec: LaunchSpec, unbound: LaunchSpec): (Process, Boolean) =
    try (jvms.start(spec, id), true)
    catch {
      case refused: BindingRefused if settings.binding == BindingMode.Preferred =>
        log.warn(s"Executor $id continues unbound: ${refused.getMessage}")
        (jvms.start(unbound, id), false)
      case refused: BindingRefused =>
        throw new UserError(
          s"${refused.getMessage}; or set spark.hearth.binding=preferred to continue unbound",
          Some(refused)
        )
    }

  private def describe(id: String, place: ExecutorPlan, logs: Path, bound: Boolean) =
    ExecutorLaunch(
      id = id,
      place = place,
      host = settings.hostOf(place),
      bound = bound,
      startsIn = settings.startsIn(scratch.workDirectory(id)),
      workDirectory = scratch.workDirectory(id),
      temporary = scratch.temporary(id),
      localDirs = scratch.localDirs(id),
      logs = logs,
      logUrl = settings.logUrl(id)
    )
}
