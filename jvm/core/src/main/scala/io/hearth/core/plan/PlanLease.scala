package io.hearth.core.plan

import io.hearth.core.leases.{Lease, Leases, LeaseState}
import io.hearth.core.topology.{IdSet, Topology}

/** What of a machine an application takes by its plan, and whether others hold it. */
object PlanLease {

  /** CPUs of its executors; the driver of a partitioned plan takes what others leave. */
  def cpus(plan: Plan): IdSet = IdSet.union(plan.executors.iterator.map(_.cpus))

  /** By memory node, all that its processes may take there; evenly where a process has several nodes. */
  def memoryBytes(plan: Plan): Map[Int, Long] = {
    val executors = plan.executors.map(e => e.memoryNodes -> e.memoryMb)
    val driver = Option.when(plan.mode == PlanMode.Partitioned)(
      plan.driver.memoryNodes -> plan.driver.memoryMb
    )
    (executors ++ driver)
      .flatMap { case (nodes, mb) => nodes.iterator.map(_ -> (mb << 20) / nodes.size) }
      .groupMapReduce(_._1)(_._2)(_ + _)
  }

  /** The lease of what a plan takes: of memory alone, where its CPUs are others'. */
  def of(fitted: Fitted, application: Lease): Lease = application.copy(
    state = if (fitted.full.isEmpty) LeaseState.Holds else LeaseState.Shares,
    cpus = if (fitted.full.isEmpty) cpus(fitted.plan) else IdSet.empty,
    memoryBytes = memoryBytes(fitted.plan)
  )

  /** Whether a plan that was made earlier has its CPUs and its memory still to itself, and it is its turn. */
  def isFree(plan: Plan, machine: Topology, leases: Leases): Boolean = {
    val taken = leases.memoryBytes
    leases.unknown.isEmpty && leases.waiting.isEmpty &&
    !cpus(plan).intersects(leases.cpus) && memoryBytes(plan).forall { case (node, bytes) =>
      val theirs = taken.getOrElse(node, 0L)
      theirs == 0 || machine.node(node).forall(_.memoryBytes - theirs >= bytes)
    }
  }
}
