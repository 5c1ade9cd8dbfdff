package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.topology.TaskLimit

/**
 * Threads and processes of a plan, and whether the limits of the cgroup and of the user hold them.
 *
 * Counted in `/proc/PID/task` of plain executors and drivers of Spark 4 with 1 and 4 task slots, idle and at work
 * (2026-11-26). Libraries that start threads of their own come on top.
 */
final private[plan] class Tasks(draft: PlanDraft) {
  import draft._
  import Tasks._

  private val driverParts = if (native) 0 else 1

  /** What the JVMs have when they have just started: with less, none of them does any work. */
  private val min: Long = layout.placements.indices.map(id => IdleExecutor + part(id)).sum +
    driverParts * IdleDriver

  /** What they have at work. */
  val likely: Long = layout.placements.zipWithIndex.map { case (placement, id) =>
    val python = if (workload.python) PythonDaemon + PerPythonTask * placement.slots else 0
    val engine = constraints.engine.fold(0)(_.threads(placement.slots))
    BusyExecutor + part(id) + PerTask * placement.slots + python + engine
  }.sum + driverParts * BusyDriver

  private val tightest: Option[TaskLimit] = usable.topology.allowed.taskLimits.minByOption(_.left)

  /** Where not even the JVMs can start. */
  def unfit: Option[Unfit] = tightest.filter(_.left < min).map { limit =>
    Unfit(limit.name, s"${limit.max}", s"${used(limit)}$needs at least $min", remedy(limit))
  }

  /** Where they can start and may not be able to work. */
  def reason: Option[Reason] = tightest.filter(_.left < likely).map { limit =>
    Reason(
      BoundReasons.Threads,
      s"about $likely at work",
      s"${limit.name} allows ${limit.max}: ${used(limit)}$needs more than are left, and an executor that cannot " +
        s"start a thread dies; ${remedy(limit)}",
      "kernel: pids.max, RLIMIT_NPROC; hearth: counted in plain executors"
    )
  }

  private def needs = if (native) "threads of one JVM are"
  else s"threads of ${Counted(layout.placements.size, "executor")} and a driver are"

  private def used(limit: TaskLimit): String = limit.current.fold(
    "all processes of the user count against it; "
  )(n => s"$n exist already; ")

  private def remedy(limit: TaskLimit): String =
    if (limit.name == TaskLimit.User) "raise it (ulimit -u) or ask for fewer executors"
    else "raise it (systemd: TasksMax, Docker: --pids-limit) or ask for fewer executors"
}

private[plan] object Tasks {
  // Threads of an executor besides those of its collector, and of a driver.
  private val IdleExecutor = 27
  private val BusyExecutor = 30
  private val IdleDriver = 80
  private val BusyDriver = 110

  /** The task's thread and those that serve its blocks. */
  private val PerTask = 3

  /** The process that forks Python's workers; a worker for each task, and the threads that talk to it. */
  private val PythonDaemon = 3
  private val PerPythonTask = 3
}
