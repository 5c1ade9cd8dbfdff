package io.hearth.core.plan

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.topology.{IdSet, NumaNode, Topology}

/** What holds for every machine, over thousands of generated ones. */
class PlanPropertiesTest extends AnyFunSuite with Seeded {
  private def planned(topology: Topology, workload: Workload, limits: Limits, occupied: IdSet) =
    Planner.plan(topology, workload, limits, occupied)

  private def footprint(e: ExecutorPlan): Long = e.memoryMb

  private val anything = for {
    (topology, occupied) <- GeneratedMachines.restricted
    workload <- GeneratedMachines.workloads
    limits <- Gen.oneOf(Gen.const(Limits.none), GeneratedMachines.limits)
  } yield (topology, occupied, workload, limits)

  /** Every plan that is made of [[anything]]. */
  private def forPlans(holds: (Topology, IdSet, Limits, Plan) => Any): Unit =
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach(holds(topology, occupied, limits, _))
    }

  test("every CPU is given once, is allowed and is not occupied") {
    forPlans { (topology, occupied, _, plan) =>
      val masks = plan.executors.map(_.cpus)
      val usable = topology.allowed.cpus &~ occupied
      assert(masks.map(_.size).sum == IdSet.union(masks).size)
      assert(masks.forall(g => g.nonEmpty && g.subsetOf(usable)))
      assert(plan.driver.cpus.nonEmpty && plan.driver.cpus.subsetOf(usable))
    }
  }

  private val twice = for {
    (topology, occupied) <- GeneratedMachines.restricted
    one <- GeneratedMachines.workloads
    other <- GeneratedMachines.workloads
    limits <- Gen.oneOf(Gen.const(Limits.none), GeneratedMachines.limits)
  } yield (topology, occupied, Vector(one, other), limits)

  test(
    "plans of one machine that differ say why: another number of executors has another sentence"
  ) {
    var differing = 0
    forAll(twice) { case (topology, occupied, workloads, limits) =>
      workloads.map(planned(topology, _, limits, occupied)) match {
        case Vector(Right(one), Right(other)) if one.executors != other.executors =>
          differing += 1
          assert(one.reasons != other.reasons)
          def why(plan: Plan) = Vector("partition", "executors").map(because(plan, _))
          if (one.executors.size != other.executors.size) assert(why(one) != why(other))
        case _ => ()
      }
    }
    assert(differing >= Seeded.count / 50, s"$differing pairs differ")
  }

  private val boundToPackages = anything.map { case (topology, occupied, workload, limits) =>
    val scope = HearthKeys.BindingScope.name -> "package"
    (topology, occupied, workload, limits.copy(conf = limits.conf + scope))
  }

  test("bound to packages, an executor has all usable CPUs of one and memory that serves them") {
    var partitioned = 0
    forAll(boundToPackages) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).toOption
        .filter(_.mode == PlanMode.Partitioned)
        .foreach { plan =>
          partitioned += 1
          val usable = topology.allowed.cpus &~ occupied
          val packages = topology.packages.map(_.cpus & usable)
          plan.executors.foreach { e =>
            assert(packages.contains(e.cpus), s"${e.cpus} of $packages")
            assert(e.memoryNodes.nonEmpty && e.memoryNodes.subsetOf(topology.allowed.nodes))
          }
          plan.executors.groupBy(_.cpus).foreach { case (cpus, those) =>
            assert(those.map(_.taskSlots).sum <= cpus.size)
            assert(those.map(_.memoryNodes).distinct.sizeIs == 1)
          }
          val memory = topology.nodes.map(n => n.id -> (n.memoryBytes >> 20)).toMap
          plan.executors.groupBy(_.memoryNodes).foreach { case (nodes, those) =>
            assert(those.map(footprint).sum <= nodes.iterator.map(memory).sum)
          }
          limits.executors.foreach(n => assert(plan.executors.size == n))
          limits.cores.foreach(m => assert(plan.executors.forall(_.taskSlots == m)))
          assert(because(plan, "placement").contains("every CPU of its package"))
        }
    }
    assert(partitioned > 0)
  }

  test("every usable CPU is used where the user fixed nothing") {
    forAll(GeneratedMachines.restricted, GeneratedMachines.workloads) {
      case ((topology, occupied), workload) =>
        planned(topology, workload, Limits.none, occupied).foreach { plan =>
          assert(IdSet.union(plan.executors.map(_.cpus)) == (topology.allowed.cpus &~ occupied))
        }
    }
  }

  test("no node, no group of nodes and no cgroup is asked for more memory than it has") {
    forPlans { (topology, _, _, plan) =>
      val memory = topology.nodes.map(n => n.id -> (n.memoryBytes >> 20)).toMap
      plan.executors.map(_.memoryNodes).distinct.foreach { nodes =>
        val asked = plan.executors.filter(_.memoryNodes.subsetOf(nodes)).map(footprint).sum
        assert(asked <= nodes.iterator.map(memory).sum, s"on nodes $nodes")
      }
      val driver = if (plan.mode == PlanMode.Native) 0L else plan.driver.memoryMb
      val all = plan.executors.map(footprint).sum + driver
      assert(topology.allowed.memoryLimitBytes.forall(bytes => all <= (bytes >> 20)))
    }
  }

  test(
    "no RDD's partitions are set, nor fewer for a shuffle of unknown input than Spark would take"
  ) {
    forAll(GeneratedMachines.restricted) { case (topology, occupied) =>
      planned(topology, Workload.unknown, Limits.none, occupied).foreach { plan =>
        assert(!plan.conf.contains("spark.default.parallelism"))
        assert(plan.conf.get("spark.sql.shuffle.partitions").forall(_.toInt > 200))
      }
    }
  }

  test("more memory in the same places never lowers heap plus off-heap") {
    forAll(GeneratedMachines.forms, GeneratedMachines.workloads, Gen.choose(1, 300)) {
      case (form, workload, percent) =>
        def grown(mb: Long) = mb + mb * percent / 100
        val larger = form.copy(
          packages = form.packages.map(_.map(n => n.copy(memoryMb = grown(n.memoryMb)))),
          memoryOnlyMb = form.memoryOnlyMb.map(grown),
          limitMb = form.limitMb.map(grown)
        )
        def planOf(of: MachineForm) =
          planned(of.topology, workload, Limits.none, IdSet.empty).toOption
        def places(plan: Plan) = plan.executors.map(e => (e.cpus, e.memoryNodes, e.taskSlots))
        for {
          before <- planOf(form)
          after <- planOf(larger)
          // With more memory, executors may use nearer nodes or be more.
          if places(before) == places(after)
        } {
          def sparks(plan: Plan) = plan.executors.map(e => e.heapMb + e.offHeapMb).sum
          assert(sparks(after) >= sparks(before) - 2 * before.executors.size, s"$before; $after")
        }
    }
  }

  test("executors use memory of allowed nodes only, and have a heap that Spark accepts") {
    forPlans { (topology, _, _, plan) =>
      plan.executors.foreach { e =>
        assert(e.memoryNodes.nonEmpty && e.memoryNodes.subsetOf(topology.allowed.nodes))
        assert(e.heapMb >= 512L)
      }
    }
  }

  test("a CPU never has more than one task, and every executor can run one") {
    forPlans { (_, _, limits, plan) =>
      val taskCpus = limits.conf.getOrElse("spark.task.cpus", "1").toInt
      plan.executors.foreach(e => assert(e.taskSlots >= taskCpus && e.taskSlots <= e.cpus.size))
    }
  }

  test("every number that the user fixed is in the plan or refused by a name he knows") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied) match {
        case Left(unfit) =>
          assert(unfit.name.nonEmpty && unfit.limit.nonEmpty && unfit.remedy.nonEmpty)
        case Right(plan) =>
          limits.executors.foreach(n => assert(plan.executors.size == n))
          limits.cores.foreach(m => assert(plan.executors.forall(_.taskSlots == m)))
          limits.memoryMb.foreach(mb => assert(plan.executors.forall(_.heapMb == mb)))
          val both = limits.conf.keySet & plan.conf.keySet
          assert(both.forall(_ == DerivedSettings.DriverOptions))
          val max = limits.conf.get("spark.cores.max").map(_.toInt)
          max.foreach(m => assert(plan.executors.map(_.taskSlots).sum <= m))
          val most = limits.conf.get("spark.dynamicAllocation.maxExecutors").map(_.toInt)
          if (limits.conf.contains("spark.dynamicAllocation.enabled") && limits.executors.isEmpty)
            most.foreach(n => assert(plan.executors.size <= n))
      }
    }
  }

  test("an executor's place is described by both its CPUs and its memory") {
    forPlans { (topology, _, _, plan) =>
      if (plan.mode == PlanMode.Partitioned) {
        val cpuNodes = plan.executors.map(_.cpus.iterator.map(topology.nodeOf(_).map(_.id)).toSet)
        val local = cpuNodes.zip(plan.executors).forall { case (nodes, e) =>
          nodes.sizeIs == 1 && nodes.head.exists(id => e.memoryNodes == IdSet(id))
        }
        val caches =
          plan.executors.forall(e => topology.caches.exists(c => e.cpus.subsetOf(c.cpus)))
        val said = because(plan, "placement")
        assert(said.contains("inside one NUMA node") == (local && !caches))
        assert(said.contains("share a last-level cache") == (local && caches))
        assert(!because(plan, "partition").contains("local memory") || local)
        val several = cpuNodes.count(_.sizeIs > 1)
        assert(
          several == 0 || said
            .matches(s"$several of ${plan.executors.size} executors? ha(s|ve) CPUs.*")
        )
      }
    }
  }

  test(
    "there are several heaps, or one JVM, unless the user or another application needs one bound"
  ) {
    forAll(GeneratedMachines.restricted, GeneratedMachines.workloads) {
      case ((topology, occupied), workload) =>
        planned(topology, workload, Limits.none, occupied).toOption
          .filter(_.mode == PlanMode.Partitioned)
          .foreach { plan =>
            val held = occupied.intersects(topology.allowed.cpus)
            assert(plan.executors.size > 1 || held)
            assert(!because(plan, "partition").contains("several") || plan.executors.size > 1)
          }
    }
  }

  test(
    "executors on the same memory differ by one core at most, and heaps follow their task slots"
  ) {
    forAll(GeneratedMachines.restricted, GeneratedMachines.workloads) {
      case ((topology, occupied), workload) =>
        planned(topology, workload, Limits.none, occupied).foreach { plan =>
          val usable = topology.allowed.cpus &~ occupied
          val core = topology.cores.map(c => math.min(4, (c.cpus & usable).size)).max
          plan.executors.groupBy(_.memoryNodes).values.filter(rounding(plan, _)).foreach { alike =>
            val widths = alike.map(_.taskSlots)
            assert(widths.max - widths.min <= core, widths)
          }
          for (a <- plan.executors; b <- plan.executors if a.taskSlots <= b.taskSlots)
            assert(a.heapMb <= b.heapMb + 1, s"${a.taskSlots} and ${b.taskSlots} slots")
          for (a <- plan.executors; b <- plan.executors if b.heapMb < 31744) {
            val each = (e: ExecutorPlan) => (e.heapMb - 512.0) / e.taskSlots
            val named = because(plan, "executors").contains("worthwhile threads")
            assert(named || each(a) <= each(b) * 1.15 + 64, s"$a $b")
          }
        }
    }
  }

  private def rounding(plan: Plan, of: Vector[ExecutorPlan]): Boolean =
    of.nonEmpty && !because(plan, "executors").contains("worthwhile threads")

  test("a task has the memory that it reads, or the plan tells how little it has") {
    forPlans { (_, _, limits, plan) =>
      val taskCpus = limits.conf.getOrElse("spark.task.cpus", "1").toInt
      val thin = plan.executors.exists { e =>
        val tasks = e.taskSlots / taskCpus
        tasks > 1 && (e.heapMb - 300) / tasks < 128
      }
      assert(because(plan, "heap").contains("warning") == thin)
      val free = limits.memoryMb.isEmpty && limits.cores.isEmpty
      assert(!thin || !free || limits.conf.contains("spark.executor.cores"))
    }
  }

  test("no memory farther than its CPUs is used while an equally near node serves nobody") {
    forPlans { (topology, occupied, limits, plan) =>
      if (plan.mode == PlanMode.Partitioned) {
        val used = IdSet.union(plan.executors.map(_.memoryNodes))
        val open = topology.nodes.filter { n =>
          topology.allowed.nodes.contains(n.id) && !used.contains(n.id) &&
          free(topology, n, occupied) > 1536
        }
        plan.executors.foreach { e =>
          val homes = topology.nodes.filter(_.cpus.intersects(e.cpus))
          val far = e.memoryNodes.iterator.filterNot(id => homes.exists(_.id == id)).toVector
          def near(to: Int) = homes.map(_.distances(to)).min
          val single = homes.sizeIs == 1 && far.size == e.memoryNodes.size
          if (single && limits == Limits.none && topology.allowed.memoryLimitBytes.isEmpty)
            far.foreach(id =>
              open.foreach(n => assert(near(n.id) > near(id), s"node ${n.id} unused"))
            )
        }
      }
    }
  }

  /** MB of a node that no other application's CPUs have a claim to. */
  private def free(topology: Topology, node: NumaNode, occupied: IdSet): Long = {
    val own = node.cpus & topology.allowed.cpus
    val mb = node.memoryBytes >> 20
    if (own.isEmpty) mb else mb * (own &~ occupied).size / own.size
  }

  test(
    "what is about as large as the machine is refused or planned, and more of it never fits again"
  ) {
    var (fits, refused) = (0, 0)
    forAll(GeneratedMachines.tight) { case (topology, limits) =>
      planned(topology, Workload.unknown, limits, IdSet.empty) match {
        case Right(_) => fits += 1
        case Left(unfit) =>
          refused += 1
          assert(Vector(unfit.name, unfit.value, unfit.limit, unfit.remedy).forall(_.nonEmpty))
          assert(!unfit.message.contains('\n'))
          val more = limits.copy(memoryMb = limits.memoryMb.map(_ * 2))
          assert(planned(topology, Workload.unknown, more, IdSet.empty).isLeft, unfit.message)
      }
    }
    val least = Seeded.count / 10
    assert(fits >= least && refused >= least, s"$fits fit and $refused are refused")
  }

  test("the number that a refusal offers is one that fits") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).left.foreach { unfit =>
        val size = """ask for at most (\d+)([mg])\b.*""".r
        val again = (unfit.name, unfit.remedy) match {
          case ("--memory", size(n, unit)) =>
            val others = limits.conf - "spark.executor.memory"
            val mb = if (unit == "g") n.toLong * 1024 else n.toLong
            Some(limits.copy(memoryMb = Some(mb), conf = others))
          case ("spark.driver.memory", size(n, unit)) =>
            Some(limits.copy(conf = limits.conf.updated("spark.driver.memory", n + unit)))
          case ("--executors", s"ask for at most $n") =>
            val others = limits.conf - "spark.executor.instances" // the same number, said twice
            Some(limits.copy(executors = n.toIntOption, conf = others))
          case _ => None
        }
        again.foreach(l => assert(planned(topology, workload, l, occupied).isRight, unfit.message))
      }
    }
  }

  test("every decision has a sentence and a source") {
    forPlans { (_, _, _, plan) =>
      plan.reasons.foreach(r =>
        assert(Seq(r.decision, r.value, r.because, r.source).forall(_.nonEmpty), r)
      )
      val decided = plan.reasons.map(_.decision).toSet
      val expected = Set(
        "partition",
        "executors",
        "heap",
        "off-heap",
        "collector",
        "driver",
        "spark.local.dir"
      )
      assert(expected.subsetOf(decided))
    }
  }

  test("a plan reads back from its document as it was written") {
    forPlans { (_, _, _, plan) =>
      val text = Json.pretty(PlanJson.write(plan))
      assert(PlanJson.read(Json.parse(text, "the plan")) == plan)
    }
  }

  test("one node of fewer than 32 slots runs native, unless its input needs several heaps") {
    val small =
      for (form <- GeneratedMachines.forms; cores <- Gen.choose(1, 7))
        yield form.copy(packages = Vector(Vector(NodeForm(cores, form.nodes.map(_.memoryMb).max))))
    forAll(small, GeneratedMachines.workloads) { (form, workload) =>
      planned(form.topology, workload, Limits.none, IdSet.empty).foreach { plan =>
        val one = plan.mode == PlanMode.Native && plan.executors.size == 1
        val need = workload.inputBytes.filterNot(_ => workload.kind.exists(OffHeap.takes))
        assert(one || need.exists(_ > (31L << 30) / 5), plan.master)
      }
    }
  }

  test("other names of nodes change nothing but names") {
    forAll(GeneratedMachines.forms, GeneratedMachines.limits, Gen.choose(0L, Long.MaxValue)) {
      (form, limits, seed) =>
        val topology = form.copy(memoryOnlyMb = Vector.empty).topology
        val names = topology.nodes.map(_.id)
        val renamed = names.zip(new scala.util.Random(seed).shuffle(names)).toMap
        val before = planned(topology, Workload.unknown, limits, IdSet.empty)
        val after = planned(rename(topology, renamed), Workload.unknown, limits, IdSet.empty)
        val expected = before.map(_.executors.map(shape).map { case (c, m, s, h) =>
          (c, IdSet.from(m.iterator.map(renamed)), s, h)
        })
        assert(after.map(_.executors.map(shape)).toOption == expected.toOption)
    }
  }

  private def shape(e: ExecutorPlan) = (e.cpus, e.memoryNodes, e.taskSlots, e.heapMb)

  private def rename(topology: Topology, to: Map[Int, Int]): Topology = topology.copy(
    nodes = topology.nodes
      .map(n => n.copy(id = to(n.id), distances = n.distances.map { case (id, d) => to(id) -> d }))
      .sortBy(_.id)
  )

  /** CPUs and task slots; the CPUs of counts that the user fixed may shrink to stay on one node. */
  private def used(plan: Either[Unfit, Plan]): (Int, Int) =
    plan.fold(
      _ => (0, 0),
      p => (p.executors.map(_.cpus.size).sum, p.executors.map(_.taskSlots).sum)
    )

  private def because(plan: Plan, decision: String): String =
    plan.reasons.filter(_.decision == decision).map(_.because).mkString

  /** Where memory holds fewer slots than CPUs could have, heaps are cut to whole slots. */
  private def rounding(plan: Either[Unfit, Plan]): Int =
    plan.toOption
      .filter(because(_, "executors").contains("worthwhile threads"))
      .fold(0)(_.executors.size)

  private def neverLess(limits: Gen[Limits])(more: MachineForm => MachineForm): Unit =
    forAll(GeneratedMachines.forms, GeneratedMachines.workloads, limits) {
      (form, workload, fixed) =>
        val before = used(planned(form.topology, workload, fixed, IdSet.empty))
        val larger = planned(more(form).topology, workload, fixed, IdSet.empty)
        val after = used(larger)
        val narrower = fixed == Limits.none && after._1 < before._1
        val least = before._2 - rounding(larger)
        assert(!narrower && after._2 >= least, s"$before became $after with ${more(form)}")
    }

  private def eachNode(form: MachineForm)(more: NodeForm => NodeForm) =
    form.copy(packages = form.packages.map(_.map(more)))

  private def firstNode(form: MachineForm)(more: NodeForm => NodeForm) = form.copy(packages =
    form.packages.updated(0, more(form.packages.head.head) +: form.packages.head.tail)
  )

  for (
    (who, limits) <- Seq("" -> Gen.const(Limits.none), " where the user fixes counts" -> counts)
  ) {
    test(s"a core more on each node never uses fewer cores$who") {
      neverLess(limits)(eachNode(_)(n => n.copy(cores = n.cores + 1)))
    }
    test(s"a core more on one node never uses fewer cores$who") {
      neverLess(limits)(firstNode(_)(n => n.copy(cores = n.cores + 1)))
    }
    test(s"a node more never uses fewer cores$who") {
      neverLess(limits)(f =>
        f.copy(packages = f.packages.init :+ (f.packages.last :+ f.nodes.head))
      )
    }
    test(s"a package more never uses fewer cores$who") {
      neverLess(limits)(f => f.copy(packages = f.packages :+ f.packages.head))
    }
    test(s"more memory never uses fewer cores$who") {
      neverLess(limits)(eachNode(_)(n => n.copy(memoryMb = n.memoryMb * 2)))
      neverLess(limits)(firstNode(_)(n => n.copy(memoryMb = n.memoryMb + 5000)))
    }
    test(s"a higher memory limit never uses fewer cores$who") {
      neverLess(limits)(f => f.copy(limitMb = f.limitMb.map(_ * 2)))
      neverLess(limits)(_.copy(limitMb = None))
    }
  }

  private lazy val counts: Gen[Limits] =
    GeneratedMachines.limits.map(_.copy(memoryMb = None, conf = Map.empty))
}
