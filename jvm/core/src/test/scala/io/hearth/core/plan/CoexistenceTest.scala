package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.leases.{Lease, LeaseState, Leases, LiveLease}
import io.hearth.core.topology.{IdSet, MachineSpec, Neighbour, Neighbours, Topology}

class CoexistenceTest extends AnyFunSuite {
  private val machine = MachineSpec.parse("2 packages, 2 nodes of 64 GB, 8 cores")

  private def fit(
      limits: Limits,
      leases: Leases,
      on: Topology = machine,
      neighbours: Neighbours = Neighbours.none
  ): Fitted = new Fitting(on, Workload.unknown, limits, neighbours, None).beside(leases)

  private def beside(limits: Limits, theirs: IdSet, hidden: Option[String]): Plan = {
    val executors = Vector(Neighbour(77, "app-1", "alice", theirs)).filter(_ => theirs.nonEmpty)
    fit(limits, Leases.none, neighbours = Neighbours(executors, hidden)).plan
  }

  private def cpus(plan: Plan): IdSet = IdSet.union(plan.executors.map(_.cpus))
  private def said(plan: Plan): Vector[Reason] =
    plan.reasons.filter(_.decision == Coexistence.Decision)

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
    assert(said(wide).head.because.contains("(--executors x --cores: 2 x 8 = 16 does not fit)"))
  }

  test("without neighbours, or with some on CPUs that are not ours, nothing changes") {
    val alone = beside(Limits.none, IdSet.empty, None)
    assert(said(alone).isEmpty)
    assert(beside(Limits.none, IdSet(500), None) == alone)
  }

  private def whileFree(availableMb: Long, limits: Limits = Limits.none): Plan =
    fit(limits, Leases.none, neighbours = Neighbours(Vector.empty, None, Some(availableMb))).plan

  test("a plan takes no more memory than other processes leave, and says so") {
    assert(said(whileFree(128 << 10)).isEmpty)
    for (availableMb <- Seq(1843L, 4L << 10, 20L << 10)) {
      val plan = whileFree(availableMb)
      assert(plan.memoryMb <= availableMb)
      for (e <- plan.executors)
        assert(
          (e.heapMb - Memory.ReservedMb) / Memory.MinTaskMb >= e.taskSlots,
          "heap for a task"
        )
      assert(said(plan).map(_.value) == Vector(s"${Sizes.show(availableMb)} of memory available"))
      assert(said(plan).head.because.contains("so the plan takes at most "))
    }
  }

  test("overheads, the driver's too, and Python's memory count against what is available") {
    def all(plan: Plan) = plan.driver.heapMb + plan.driver.overheadMb +
      plan.executors.map(e => e.heapMb + e.offHeapMb + e.overheadMb + e.pysparkMb).sum
    val limits =
      Limits.none.copy(executors = Some(2), conf = Map("spark.executor.pyspark.memory" -> "2g"))
    val whole = all(whileFree(1L << 30, limits))
    val smaller = whileFree(whole - 1, limits)
    assert(all(smaller) < whole)
    assert(said(smaller).nonEmpty)
  }

  test("memory that the user fixes is planned, and that it may be too much is said") {
    val fixed = whileFree(4L << 10, Limits.none.copy(memoryMb = Some(20L << 10)))
    assert(said(fixed).head.because.contains("the plan may take "))
  }

  private def gigabytes(of: Plan, node: Int) =
    of.executors.filter(_.memoryNodes.contains(node)).map(e => e.heapMb + e.overheadMb).sum / 1024.0

  test(
    "memory that processes without a lease hold on a node is left to them, in steps, and that is said"
  ) {
    def beside(freeGb: Map[Int, Long], leases: Leases = Leases.none, limits: Limits = Limits.none) =
      fit(
        limits,
        leases,
        neighbours =
          Neighbours(Vector.empty, None, None, freeGb.map { case (n, g) => n -> (g << 30) })
      ).plan

    val alone = beside(Map.empty)
    assert(beside(Map(0 -> 59L, 1 -> 58L)) == alone, "the part that every plan leaves")
    val held = beside(Map(0 -> 20L, 1 -> 60L))
    assert(
      gigabytes(held, 0) < 20 && said(held).map(_.value) == Vector("48 GB of node 0 left alone")
    )
    assert(
      gigabytes(beside(Map(0 -> 21L, 1 -> 60L)), 0) == gigabytes(held, 0),
      "small changes change no plan"
    )
    val theirs = leased(IdSet.empty, Map(0 -> 44L))
    assert(
      !said(beside(Map(0 -> 20L, 1 -> 60L), theirs)).exists(_.value.contains("of node 0 left"))
    )
    val asked = eight.copy(memoryMb = Some(50L << 10), executors = Some(2))
    val fixed = beside(Map(0 -> 2L, 1 -> 2L), limits = asked)
    assert(fixed.executors.map(_.heapMb) == Vector(51200L, 51200L), "what the user fixed stands")
  }

  test("that others are hidden is a reason of the plan") {
    assert(
      said(beside(Limits.none, IdSet.empty, Some("hidden"))).map(_.because) == Vector("hidden")
    )
  }

  private def leased(cpus: IdSet, gbOfNode: Map[Int, Long], ours: Boolean = false) = {
    val memory = gbOfNode.map { case (node, gb) => node -> (gb << 30) }
    val lease = Lease("boot", LeaseState.Holds, "app-9", "job", 77, 1, 1, cpus, memory)
    Leases(Vector(LiveLease(lease, "alice", ours)))
  }

  private def memory(plan: Plan): Map[Int, Long] = PlanLease.memoryBytes(plan)

  test(
    "leased CPUs and the bytes leased on each node are left alone, and the plan says whose they are"
  ) {
    val got = fit(Limits.none, leased(IdSet.from(0 to 3), Map(0 -> 50L)))
    assert(!got.unbound && got.full.isEmpty && !cpus(got.plan).intersects(IdSet.from(0 to 3)))
    assert(memory(got.plan)(0) <= (14L << 30), "64 GB less 50 GB, not half of 64 GB")
    val small = MachineSpec.parse("1 node of 64 GB, 8 cores")
    val light = fit(Limits.none, leased(IdSet.from(0 to 5), Map(0 -> 4L)), small)
    assert(memory(light.plan)(0) > (20L << 30), "64 GB less 4 GB, not a quarter of 64 GB")
    val reasons = got.plan.reasons.filter(_.decision == Coexistence.Leased)
    assert(reasons.map(_.value) == Vector("CPUs 0-3 left alone", "50 GB of node 0 left alone"))
    assert(reasons.head.because == "leased by app-9 of alice (process 77) on CPUs 0-3")
  }

  test("two plans made one around the other's lease never take more than the machine has") {
    val first = fit(eight.copy(cores = Some(4)), Leases.none).plan
    val lease = Lease("b", LeaseState.Holds, "a", "n", 1, 1, 1, cpus(first), memory(first))
    val held = Leases(Vector(LiveLease(lease, "bob", ours = true)))
    val second = fit(Limits.none, held)
    assert(!cpus(second.plan).intersects(cpus(first)))
    for (node <- 0 to 1)
      assert(
        memory(first).getOrElse(node, 0L) + memory(second.plan).getOrElse(node, 0L) <= (64L << 30)
      )
    assert(!PlanLease.isFree(first, machine, held))
    assert(PlanLease.isFree(second.plan, machine, held))
  }

  test("where everything is leased the plan is not bound and names whom it runs beside") {
    val all = machine.cpus
    val got = fit(Limits.none, leased(all, Map(0 -> 60L, 1 -> 60L)))
    assert(got.unbound && !got.plan.driver.bound)
    assert(got.full.exists(_.endsWith(s"held by app-9 of alice (process 77) on CPUs $all")))
    val reason = got.plan.reasons.find(_.decision == Coexistence.Sharing).get
    assert(reason.value == s"CPUs $all shared" && reason.because.contains("run unbound"))
  }

  test("the more applications hold, the less memory the next one is promised") {
    val sizes = Iterator
      .iterate(Leases.none) { leases =>
        val plan = fit(Limits.none, leases).plan
        val lease = Lease("b", LeaseState.Shares, "a", "n", 1, 1, 1, machine.cpus, memory(plan))
        Leases(leases.live :+ LiveLease(lease, "bob", ours = true))
      }
      .take(6)
      .map(leases => fit(Limits.none, leases).plan.memoryMb)
      .toVector
    assert(sizes == sizes.sorted.reverse && sizes.last < 4096, sizes)
    assert(sizes.take(3).sum <= (128L << 10), s"three fit the machine: $sizes")
    val asked = Limits.none.copy(executors = Some(2), memoryMb = Some(30L << 10))
    val four = fit(asked, leased(machine.cpus, Map(0 -> 60L, 1 -> 60L))).plan
    assert(four.executors.map(_.heapMb) == Vector.fill(2)(30L << 10), "what is asked for is kept")
  }

  test(
    "who waits is told for whom it waits, and not that it runs unbound, with a lease or without"
  ) {
    val wait = Limits.none.copy(conf = Map(HearthKeys.WhenFull.name -> "wait"))
    val leases = fit(wait, leased(machine.cpus, Map(0 -> 60L, 1 -> 60L)))
    val unleased = beside(wait, machine.cpus, None)
    for (plan <- Vector(leases.plan, unleased)) {
      val because = plan.reasons.find(_.decision == Coexistence.Waiting).get.because
      assert(because.contains("of alice (process 77)") && because.contains("when enough is free"))
      val others = plan.reasons.filter(r => Coexistence.Decisions(r.decision)).map(_.because)
      assert(!others.exists(why => why.contains("unbound") || why.contains("slow")))
    }
  }

  test("memory of a lease beyond all sums counts for what the machine has, in words too") {
    val one = leased(IdSet.empty, Map(0 -> (Long.MaxValue >> 30), 77 -> 9L)).live.head
    val got = fit(Limits.none, Leases(Vector.fill(3)(one)))
    assert(memory(got.plan).values.forall(_ <= (64L << 30)) && !got.unbound)
    assert(!memory(got.plan).contains(0), "node 0 is full")
    val said = got.plan.reasons.filter(_.decision == Coexistence.Leased).map(_.value)
    assert(said == Vector("64 GB of node 0 left alone"))
  }

  test("where it is not known who holds what, or others wait, nothing is bound, and that is said") {
    val hidden =
      Leases(Vector.empty, Vector.empty, Vector("user mallory has more than 1024 of them"))
    val one = leased(IdSet.empty, Map.empty).live.head
    val queue = Leases(
      Vector(one.copy(lease = one.lease.copy(state = LeaseState.Waits, ticket = Some(3)))),
      Vector.empty
    )
    for (
      (leases, why) <- Vector(hidden -> "user mallory has", queue -> "1 ahead of it in the queue")
    ) {
      val got = fit(Limits.none, leases)
      assert(got.unbound && !got.plan.driver.bound && got.refusal.exists(_.contains(why)))
      assert(
        got.plan.reasons.exists(r => r.decision == Coexistence.Sharing && r.because.contains(why))
      )
      assert(!PlanLease.isFree(fit(Limits.none, Leases.none).plan, machine, leases))
    }
    assert(!fit(Limits.none, queue.before(Some(3))).unbound, "it has its turn")
    assert(fit(Limits.none, queue.before(Some(4))).unbound)
  }

  test("of a cgroup's limit only this user's own leases are taken off") {
    val limited = machine.copy(allowed = machine.allowed.copy(memoryLimitBytes = Some(40L << 30)))
    def total(ours: Boolean) =
      memory(fit(Limits.none, leased(IdSet(0), Map(0 -> 30L), ours), limited).plan).values.sum >> 30
    assert(total(ours = true) <= 10 && total(ours = false) > 20)
  }

  test("memory is free that a plan would use and nobody has leased; a cgroup's limit is shared") {
    val gb = 1L << 30
    val lease = Lease("", LeaseState.Shares, "a", "a", 1, 1, 1, IdSet.empty, Map(1 -> 50 * gb))
    val leases = Leases(Vector(LiveLease(lease, "alice", ours = true)))
    val free = FreeMemory.of(machine, leases)
    def gbEach(of: FreeMemory, nodes: IdSet, processes: Int, all: Int) =
      of.each(nodes, processes, all) / gb
    assert(gbEach(free, IdSet(0), 1, 1) == 57 && gbEach(free, IdSet(1), 1, 1) == 7)
    assert(gbEach(free, IdSet(0), 2, 2) == 28 && gbEach(free, IdSet(0, 1), 1, 1) == 15)
    assert(free.each(IdSet.empty, 1, 1) == 0 && free.each(IdSet(9), 1, 1) == 0)
    val limited = machine.copy(allowed = machine.allowed.copy(memoryLimitBytes = Some(90 * gb)))
    assert(gbEach(FreeMemory.of(limited, leases), IdSet(0), 1, 2) == 15)
  }
}
