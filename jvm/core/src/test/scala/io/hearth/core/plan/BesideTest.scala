package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{IdSet, MachineSpec, Neighbour, Neighbours}

class BesideTest extends AnyFunSuite {
  private val machine = MachineSpec.parse("2 packages, 2 nodes of 64 GB, 8 cores")

  private def beside(limits: Limits, theirs: IdSet, hidden: Option[String]): Plan = {
    val executors = Vector(Neighbour(77, "app-1", "alice", theirs)).filter(_ => theirs.nonEmpty)
    Beside
      .plan(machine, Workload.unknown, limits, IdSet.empty, Neighbours(executors, hidden), None)
      .fold(unfit => fail(unfit.message), identity)
  }

  private def cpus(plan: Plan): IdSet = IdSet.union(plan.executors.map(_.cpus))
  private def said(plan: Plan): Vector[Reason] = plan.reasons.filter(_.decision == Beside.Decision)

  private val eight = Limits.none.copy(executors = Some(1), cores = Some(8))

  test("executors of another application keep their CPUs, and the plan says whose they are") {
    val node = IdSet.from(0 to 7)
    for (limits <- Seq(Limits.none, eight)) {
      val got = beside(limits, node, None)
      assert(!cpus(got).intersects(node) && !got.driver.cpus.intersects(node))
      assert(got.executors.forall(_.memoryNodes == IdSet(1)))
      assert(said(got).map(_.value) == Vector("CPUs 0-7 left alone"))
      assert(said(got).head.because.contains("app-1 of alice (process 77) on CPUs 0-7"))
    }
  }

  test("where nothing fits beside them the CPUs are shared, and the plan says which and why") {
    val all = machine.allowed.cpus
    val shared = beside(Limits.none, all, None)
    assert(cpus(shared) == all && said(shared).map(_.value) == Vector(s"CPUs $all shared"))
    assert(said(shared).head.because.contains("app-1 of alice"))
    val wide = beside(eight.copy(executors = Some(2)), IdSet(3), None)
    assert(said(wide).map(_.value) == Vector("CPUs 3 shared"))
    assert(said(wide).head.because.contains("--executors x --cores: 2 x 8 = 16 does not fit"))
  }

  test("without neighbours, or with some on CPUs that are not ours, nothing changes") {
    val alone = beside(Limits.none, IdSet.empty, None)
    assert(said(alone).isEmpty)
    assert(beside(Limits.none, IdSet(500), None) == alone)
  }

  test("a plan for more memory than other processes leave says so, with both figures") {
    def held(availableMb: Long) = said(
      Beside
        .plan(
          machine,
          Workload.unknown,
          Limits.none,
          IdSet.empty,
          Neighbours(Vector.empty, None, Some(availableMb)),
          None
        )
        .fold(unfit => fail(unfit.message), identity)
    )
    assert(held(128 << 10).isEmpty)
    assert(held(20 << 10).map(_.value) == Vector("20 GB of memory available"))
    assert(held(20 << 10).head.because.contains("the plan may take "))
  }

  test("that others are hidden is a reason of the plan") {
    assert(
      said(beside(Limits.none, IdSet.empty, Some("hidden"))).map(_.because) == Vector("hidden")
    )
  }
}
