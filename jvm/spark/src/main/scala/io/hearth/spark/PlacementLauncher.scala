package io.hearth.spark

import java.util.concurrent.atomic.AtomicBoolean

import io.hearth.core.UserError
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.launch.LaunchSpec
import io.hearth.core.plan.{BindingMode, ExecutorPlan}

/** To what a process is held. */
final case class Held(cpus: Boolean, memory: Boolean)

/**
 * From a place of the plan to a process in it, whatever the process is: a JVM of this machine or one in a container,
 * bound as `spark.hearth.binding` says.
 */
final class PlacementLauncher(binding: BindingMode, jvms: JvmStarter, kernel: Kernel, log: Log) {
  import PlacementLauncher._

  private val nothingToBindSaid = new AtomicBoolean(false)

  /**
   * @param spec the process, by what it will be held to
   * @throws UserError when the kernel refuses the binding and the user did not allow to go on without
   */
  def start(id: String, place: ExecutorPlan)(spec: Held => LaunchSpec): RunningExecutor = {
    def startHeld(held: Held) = {
      val process = jvms.start(spec(held), id)
      val ticks = kernel.startTicks(process.pid)
      RunningExecutor(id, place, process, ticks, held.cpus, held.memory)
    }
    if (binding == BindingMode.Off) startHeld(Nowhere)
    else
      try startHeld(InPlace)
      catch { case refused: BindingRefused => startRefused(id, place, refused, startHeld) }
  }

  /** What the kernel refuses is left out, where that makes no difference or the user allows it. */
  private def startRefused(
      id: String,
      place: ExecutorPlan,
      refused: BindingRefused,
      start: Held => RunningExecutor
  ): RunningExecutor =
    if (refused.ofMemory && kernel.hasOnlyNodes(place.memoryNodes)) {
      if (!nothingToBindSaid.getAndSet(true))
        log.info(
          s"Executors have no memory policy and need none: they may only use ${place.memoryNodes.named("memory node")} " +
            s"(${refused.getMessage})"
        )
      start(OnCpus).copy(memoryBound = true)
    } else if (binding != BindingMode.Preferred)
      throw new UserError(
        s"${refused.getMessage}; or set spark.hearth.binding=preferred to continue unbound",
        Some(refused)
      )
    else if (refused.ofMemory) {
      log.warn(s"Executor $id continues with its CPUs bound, its memory not: ${refused.getMessage}")
      start(OnCpus)
    } else {
      log.warn(s"Executor $id continues unbound: ${refused.getMessage}")
      start(Nowhere)
    }
}

private object PlacementLauncher {
  val InPlace: Held = Held(cpus = true, memory = true)
  val OnCpus: Held = Held(cpus = true, memory = false)
  val Nowhere: Held = Held(cpus = false, memory = false)
}
