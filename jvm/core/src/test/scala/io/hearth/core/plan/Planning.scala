package io.hearth.core.plan

import org.scalatest.Assertions

import io.hearth.core.topology.{IdSet, MachineSpec, Topology}

/** Plans for machines that are idle but for what a test says. */
trait Planning { this: Assertions =>

  protected def planning(
      machine: Topology,
      limits: Limits = Limits.none,
      workload: Workload = Workload.unknown,
      occupied: IdSet = IdSet.empty
  ): Either[Unfit, Plan] = Planner.plan(machine, workload, limits, occupied)

  protected def planned(
      machine: Topology,
      limits: Limits = Limits.none,
      workload: Workload = Workload.unknown,
      occupied: IdSet = IdSet.empty
  ): Plan = planning(machine, limits, workload, occupied).fold(u => fail(u.message), identity)

  protected def described(machine: String): Topology = MachineSpec.parse(machine)

  protected def reasonOf(plan: Plan, decision: String): Reason =
    plan.reasons.find(_.decision == decision).getOrElse(fail(s"no reason for $decision"))
}
