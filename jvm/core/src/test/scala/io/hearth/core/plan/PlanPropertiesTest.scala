package io.hearth.core.plan

import org.scalacheck.Gen
import org.scalactic.anyvals.PosInt
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.hearth.core.json.Json
import io.hearth.core.topology.{IdSet, Topology}

/** What holds for every machine, over thousands of generated ones. */
class PlanPropertiesTest extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(
      minSuccessful = PosInt.from(sys.env.getOrElse("HEARTH_PROPERTIES", "300").toInt).getOrElse(1),
      sizeRange = 200
    )

  private def planned(topology: Topology, workload: Workload, limits: Limits, occupied: IdSet) =
    Planner.plan(topology, workload, limits, occupied)

  private def footprint(e: ExecutorPlan): Long = e.heapMb + e.offHeapMb + e.overheadMb

  private val anything = for {
    (topology, occupied) <- GeneratedMachines.restricted
    workload <- GeneratedMachines.workloads
    limits <- Gen.oneOf(Gen.const(Limits.none), GeneratedMachines.limits)
  } yield (topology, occupied, workload, limits)

  test("every CPU is given once, is allowed and is not occupied") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
        val masks = plan.executors.map(_.cpus)
        val usable = topology.allowed.cpus &~ occupied
        assert(masks.map(_.size).sum == IdSet.union(masks).size)
        assert(masks.forall(g => g.nonEmpty && g.subsetOf(usable)))
        assert(plan.driver.cpus.nonEmpty && plan.driver.cpus.subsetOf(usable))
      }
    }
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
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
        val memory = topology.nodes.map(n => n.id -> (n.memoryBytes >> 20)).toMap
        plan.executors.map(_.memoryNodes).distinct.foreach { nodes =>
          val asked = plan.executors.filter(_.memoryNodes.subsetOf(nodes)).map(footprint).sum
          assert(asked <= nodes.iterator.map(memory).sum, s"on nodes $nodes")
        }
        val driver = if (plan.mode == PlanMode.Native) 0L else plan.driver.heapMb
        val all = plan.executors.map(footprint).sum + driver
        assert(topology.allowed.memoryLimitBytes.forall(bytes => all <= (bytes >> 20)))
      }
    }
  }

  test("executors use memory of allowed nodes only, and have a heap that Spark accepts") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
        plan.executors.foreach { e =>
          assert(e.memoryNodes.nonEmpty && e.memoryNodes.subsetOf(topology.allowed.nodes))
          assert(e.heapMb >= math.min(512L, limits.memoryMb.getOrElse(512L)))
        }
      }
    }
  }

  test("a CPU never has more than one task, and every executor can run one") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
        val taskCpus = limits.conf.getOrElse("spark.task.cpus", "1").toInt
        plan.executors.foreach(e => assert(e.taskSlots >= taskCpus && e.taskSlots <= e.cpus.size))
      }
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
          limits.conf.foreach { case (key, value) => assert(plan.conf.get(key).contains(value)) }
          val max = limits.conf.get("spark.cores.max").map(_.toInt)
          max.foreach(m => assert(plan.executors.map(_.taskSlots).sum <= m))
          val most = limits.conf.get("spark.dynamicAllocation.maxExecutors").map(_.toInt)
          if (limits.conf.contains("spark.dynamicAllocation.enabled") && limits.executors.isEmpty)
            most.foreach(n => assert(plan.executors.size <= n))
      }
    }
  }

  test("every decision has a sentence and a source") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
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
  }

  test("a plan reads back from its document as it was written") {
    forAll(anything) { case (topology, occupied, workload, limits) =>
      planned(topology, workload, limits, occupied).foreach { plan =>
        val text = Json.pretty(PlanJson.write(plan))
        assert(PlanJson.read(Json.parse(text, "the plan")) == plan)
      }
    }
  }

  test("one node of few cores runs native") {
    val small =
      for (form <- GeneratedMachines.forms; cores <- Gen.choose(1, Partitioning.FewCores))
        yield form.copy(packages = Vector(Vector(NodeForm(cores, form.nodes.map(_.memoryMb).max))))
    forAll(small, GeneratedMachines.workloads) { (form, workload) =>
      planned(form.topology, workload, Limits.none, IdSet.empty).foreach { plan =>
        assert(plan.mode == PlanMode.Native && plan.executors.size == 1)
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

  private def neverLess(limits: Gen[Limits])(more: MachineForm => MachineForm): Unit =
    forAll(GeneratedMachines.forms, GeneratedMachines.workloads, limits) {
      (form, workload, fixed) =>
        val before = used(planned(form.topology, workload, fixed, IdSet.empty))
        val after = used(planned(more(form).topology, workload, fixed, IdSet.empty))
        val narrower = fixed == Limits.none && after._1 < before._1
        assert(!narrower && after._2 >= before._2, s"$before became $after with ${more(form)}")
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
