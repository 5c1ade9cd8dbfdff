package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology}

/** Plans around the bound executors that already run, or on the same CPUs where nothing else fits. */
object Beside {

  /** The name of a plan's reason about them. */
  val Decision = "neighbours"

  private val Source = "kernel: /proc/PID/status"

  /**
   * As [[Planner.plan]]; a reason says what the neighbours change.
   *
   * @param occupied CPUs that the user wants left alone in any case
   */
  def plan(
      topology: Topology,
      workload: Workload,
      limits: Limits,
      occupied: IdSet,
      neighbours: Neighbours,
      scratch: Option[Scratch]
  ): Either[Unfit, Plan] = {
    def planned(taken: IdSet) = Planner.plan(topology, workload, limits, taken, scratch)
    val ours = topology.allowed.cpus &~ occupied
    val near = neighbours.copy(executors = neighbours.executors.filter(_.cpus.intersects(ours)))
    val theirs = near.cpus & ours
    val made =
      if (theirs.isEmpty) planned(occupied)
      else
        planned(occupied | theirs).map(adding(around(theirs, near))).left.flatMap { unfit =>
          planned(occupied).map(plan => adding(over(plan, theirs, near, unfit))(plan))
        }
    made.map { plan =>
      val notes = neighbours.hidden.map(unseen) ++
        neighbours.availableMb.filter(_ < memoryOf(plan)).map(heldNow(plan, _))
      notes.foldLeft(plan)((done, note) => adding(note)(done))
    }
  }

  /** All that the processes of a plan may take, in MiB. */
  private def memoryOf(plan: Plan): Long = {
    val driver = if (plan.mode == PlanMode.Native) 0L else plan.driver.heapMb
    plan.executors.iterator.map(e => e.heapMb + e.offHeapMb + e.overheadMb).sum + driver
  }

  private def heldNow(plan: Plan, availableMb: Long) = Reason(
    Decision,
    s"${Sizes.show(availableMb)} of memory available",
    s"other processes hold the rest now, and the plan may take ${Sizes.show(memoryOf(plan))}: end some " +
      "of them, or give a smaller --memory",
    "kernel: /proc/meminfo"
  )

  private def adding(reason: Reason)(plan: Plan): Plan =
    plan.copy(reasons = plan.reasons :+ reason)

  private def around(theirs: IdSet, neighbours: Neighbours) = Reason(
    Decision,
    s"CPUs $theirs left alone",
    s"bound executors of other applications run there: ${neighbours.who}",
    Source
  )

  private def over(plan: Plan, theirs: IdSet, neighbours: Neighbours, unfit: Unfit) = {
    val shared = theirs & IdSet.union(plan.executors.iterator.map(_.cpus))
    Reason(
      Decision,
      if (shared.isEmpty) "memory shared" else s"CPUs $shared shared",
      s"bound executors of other applications run there: ${neighbours.who}; next to them nothing " +
        s"fits (${unfit.message}), so both get slower",
      Source
    )
  }

  private def unseen(why: String) = Reason(Decision, "unknown", why, "kernel: proc(5)")
}
