package io.hearth.driver

import io.hearth.core.placement.{OtherUse, ProcessLook}
import io.hearth.core.topology.IdSet

/**
 * Sees which processes of others use the CPUs to which executors are bound: a lease keeps those away that use
 * hearth, and nobody else. Not safe for several threads.
 *
 * @param driver the application's own process; its executors are named at each look
 * @param nanoTime as of `System.nanoTime`
 */
final class OthersWatch(
    driver: Long,
    kernel: Kernel,
    nanoTime: () => Long,
    log: Log
) {
  import OthersWatch._

  private var last = Option.empty[ProcessLook]
  private var pause = MinPause
  private var warnings = 0
  private var known = Map.empty[(Long, Long), OtherUse]

  /** All that were seen, the busiest first. */
  def seen: Vector[OtherUse] = known.values.toVector.sortBy(use => (-use.cpuSeconds, use.pid))

  /** Looks, where it is time. */
  def look(executors: Vector[RunningExecutor]): Unit = {
    val bound = executors.filter(_.bound)
    val start = nanoTime()
    if (bound.isEmpty) last = None
    else if (last.forall(start - _.nanos >= pause)) {
      val now = kernel.processes(last)
      pause = math.max(MinPause, CostPause * (nanoTime() - start))
      val own = bound.map(_.process.pid).toSet + driver
      val cpus = IdSet.union(bound.map(_.place.cpus))
      last.foreach { before =>
        add(OtherUse.between(before, now, own, cpus, kernel.owner))
      }
      last = Some(now)
    }
  }

  private def add(uses: Vector[OtherUse]): Unit = {
    val fresh = uses.filterNot(use => known.contains(key(use)))
    known ++= uses.map(use => key(use) -> known.get(key(use)).fold(use)(use.after))
    known = known.toVector.sortBy(_._2.to).takeRight(MaxKnown).toMap
    if (fresh.nonEmpty && warnings < MaxWarnings) {
      warnings += 1
      log.warn(warning(fresh))
    }
  }

  private def warning(uses: Vector[OtherUse]): String = {
    val more = uses.size - MaxNamed
    val named = uses.take(MaxNamed).map(_.sentence) ++ Option.when(more > 0)(s"so did $more more")
    val last =
      if (warnings == MaxWarnings) ". Later ones are in the placement report only" else ""
    s"Other programs use CPUs to which this application's executors are bound: ${named.mkString("; ")}. " +
      s"`hearth status --leases` shows which CPUs are free$last"
  }
}

object OthersWatch {

  /** Between two looks at least, in ns. */
  private val MinPause = 10000000000L

  /** And this many times as long as the last one took: a thousandth of one CPU at most. */
  private val CostPause = 1000L
  private val MaxKnown = 50
  private val MaxNamed = 3
  private val MaxWarnings = 10

  private def key(use: OtherUse) = (use.pid, use.startTicks)
}
