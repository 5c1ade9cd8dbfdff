package io.hearth.driver

import java.nio.file.Path

import io.hearth.core.UserError
import io.hearth.core.launch.Binding
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.TaskLimits

/**
 * What all executors of an application are started with.
 *
 * @param hostOf the name under which the executor of a place registers
 * @param resourcesFile writes the file that names a place's share of custom resources, where there are any
 * @param gpus a place's share of them, by number or UUID
 * @param startsIn where an executor with a directory of its own starts
 * @param logUrl where the driver's UI serves the log of an executor; absent without a UI
 */
final case class ExecutorSettings(
    application: ApplicationLaunch,
    hostOf: ExecutorPlan => String,
    resourcesFile: (ExecutorPlan, Path) => Option[Path],
    gpus: ExecutorPlan => Vector[String],
    startsIn: Path => Path,
    logUrl: String => Option[String => String]
)

/** Starts an executor in its place, bound as `spark.hearth.binding` says. */
final class ExecutorStarter(
    settings: ExecutorSettings,
    launcher: PlacementLauncher,
    scratch: ScratchDirectories,
    run: KeptRun,
    archive: ArchiveWriting,
    reaper: Reaper,
    log: Log
) {
  import ExecutorStarter._

  /**
   * Throws UserError when the kernel refuses the binding and the user did not allow to go on without, or
   * lets this process have no more threads
   */
  def start(id: String, place: ExecutorPlan): RunningExecutor = {
    val logs = run.createLogs(id)
    scratch.createFor(id)
    val executor =
      try launch(id, place, logs)
      catch {
        case e: Throwable =>
          archive.notStarted(id)
          scratch.removeOf(id)
          throw explained(id, e)
      }
    reaper.watch(executor.process.pid, executor.startTicks)
    val where =
      if (!executor.bound) "not bound"
      else if (!executor.memoryBound) s"bound to CPUs ${place.cpus}, its memory not bound"
      else s"bound to CPUs ${place.cpus}, ${place.memoryNodes.named("memory node")}"
    log.info(
      s"Started executor $id in place ${place.id} as process ${executor.process.pid}, $where"
    )
    executor
  }

  private def launch(id: String, place: ExecutorPlan, logs: Path): RunningExecutor = {
    val options = archive.optionsFor(id)
    val resources = settings.resourcesFile(place, scratch.workDirectory(id))
    def spec(binding: Option[Binding]) = ExecutorLaunch
      .compose(
        settings.application,
        describe(id, place, logs, binding),
        options,
        resources
      )
      .copy(gpus = settings.gpus(place))
    launcher.start(id, place)(spec)
  }

  private def describe(id: String, place: ExecutorPlan, logs: Path, binding: Option[Binding]) =
    ExecutorLaunch(
      id = id,
      place = place,
      host = settings.hostOf(place),
      binding = binding,
      startsIn = settings.startsIn(scratch.workDirectory(id)),
      workDirectory = scratch.workDirectory(id),
      temporary = scratch.temporary(id),
      localDirs = scratch.localDirs(id),
      logs = logs,
      logUrl = settings.logUrl(id)
    )
}

private object ExecutorStarter {

  /** An `Error` would end Spark's threads instead of the application. */
  private def explained(id: String, cause: Throwable): Exception = cause match {
    case e if ExitStatus.lacksThreads(e.toString) =>
      new UserError(s"this driver cannot start any more threads: ${TaskLimits.here()}", Some(e))
    case e: Exception => e
    case e => new IllegalStateException(s"executor $id could not be started: $e", e)
  }
}
