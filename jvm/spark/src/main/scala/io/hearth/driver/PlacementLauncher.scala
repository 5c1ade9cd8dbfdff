package io.hearth.driver

import java.util.concurrent.atomic.AtomicBoolean

import io.hearth.core.UserError
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.launch.{Binding, JvmStarter, LaunchSpec}
import io.hearth.core.plan.{BindingMode, ExecutorPlan}
import io.hearth.core.topology.IdSet

/**
 * From a place of the plan to a process in it, whatever the process is: a JVM of this machine or one in a container,
 * bound as `spark.hearth.binding` says.
 */
final class PlacementLauncher(mode: BindingMode, jvms: JvmStarter, kernel: Kernel, log: Log) {
  private val nothingToBindSaid = new AtomicBoolean(false)

  /**
   * @param spec the process, by what it will be bound to
   * Throws UserError when the kernel refuses the binding and the user did not allow to go on without
   */
  def start(
      id: String,
      place: ExecutorPlan
  )(spec: Option[Binding] => LaunchSpec): RunningExecutor = {
    def startBound(binding: Option[Binding]) = {
      val process = jvms.start(spec(binding), id)
      RunningExecutor(id, place, process, kernel.startTicks(process.pid), binding)
    }
    if (mode == BindingMode.Off) startBound(None)
    else
      try startBound(Some(place.binding))
      catch { case refused: BindingRefused => startRefused(id, place, refused, startBound) }
  }

  /** What the kernel refuses is left out, where that makes no difference or the user allows it. */
  private def startRefused(
      id: String,
      place: ExecutorPlan,
      refused: BindingRefused,
      start: Option[Binding] => RunningExecutor
  ): RunningExecutor = {
    val onCpus = Some(place.binding.copy(memoryNodes = IdSet.empty))
    if (refused.ofMemory && kernel.hasOnlyNodes(place.memoryNodes)) {
      if (!nothingToBindSaid.getAndSet(true))
        log.info(
          s"Executors have no memory policy and need none: they may only use ${place.memoryNodes.named("memory node")} " +
            s"(${refused.getMessage})"
        )
      start(onCpus).copy(binding = Some(place.binding))
    } else if (mode != BindingMode.Preferred)
      throw new UserError(
        s"${refused.getMessage}; or set spark.hearth.binding=preferred to continue unbound",
        Some(refused)
      )
    else if (refused.ofMemory) {
      log.warn(s"Executor $id continues with its CPUs bound, its memory not: ${refused.getMessage}")
      start(onCpus)
    } else {
      log.warn(s"Executor $id continues unbound: ${refused.getMessage}")
      start(None)
    }
  }
}
