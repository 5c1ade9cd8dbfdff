package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{BatchLimit, CpuQuota, IdSet, MachineSpec, TaskLimit, Topology}

/** What a plan makes of CPU quotas, isolated CPUs and limits of tasks. */
class BoundsTest extends AnyFunSuite with Planning {
  private val large = MachineSpec.parse("2 packages, 4 nodes of 64 GB, 8 cores x 2 threads, x86")
  private val small = MachineSpec.parse("1 node of 16 GB, 4 cores")

  private def quota(machine: Topology, cpus: Double, limitGb: Option[Long] = None) = machine.copy(
    allowed = machine.allowed
      .copy(cpuQuota = Some(CpuQuota(cpus)), memoryLimitBytes = limitGb.map(_ << 30))
  )

  private def tasks(on: Topology, max: Long, current: Option[Long], name: String = "pids.max") =
    on.copy(allowed = on.allowed.copy(taskLimits = Vector(TaskLimit(name, max, current))))

  private def limits(executors: Option[Int], cores: Option[Int], conf: (String, String)*) =
    Limits(executors, cores, None, conf.toMap)

  private def slots(plan: Plan) = plan.executors.map(_.taskSlots).sum
  private def reason(plan: Plan, name: String) = plan.reasons.find(_.decision == name)
  private def processors(plan: Plan) =
    plan.executors.map(e => JavaOptions.valueOf(e.javaOptions, "ActiveProcessorCount").map(_.toInt))

  test(
    "a plan has no more task slots than the whole CPUs of the quota, at least one; JVMs count them too"
  ) {
    for (cpus <- Vector(0.1, 0.5, 1.0, 1.9, 2.5, 4.0, 7.3, 9.0, 16.0, 23.9, 24.0, 40.0, 63.5)) {
      val plan = planned(quota(large, cpus))
      assert(slots(plan) == math.max(1, cpus.toInt), cpus)
      assert(processors(plan).flatten.sum <= math.max(1, cpus.toInt), cpus)
      assert(reason(plan, "cpu quota").exists(_.because.contains("stops all threads")), cpus)
    }
    for (cpus <- Vector(64.0, 100.0)) assert(planned(quota(large, cpus)) == planned(large))
    val one = planned(quota(small, 1.5))
    assert(one.mode == PlanMode.Native && one.master == "local[1]")
    assert(one.conf(DerivedSettings.DriverOptions).contains("-XX:ActiveProcessorCount=1"))
    assert(reason(one, "cpu quota").map(_.value).contains("1.5 CPUs"))
    assert(reason(planned(quota(small, 1)), "cpu quota").map(_.value).contains("1 CPU"))
  }

  test("a large quota is several executors, each inside a node; a small one is one JVM") {
    val wide = planned(quota(large, 32))
    assert(
      wide.master == "local-numa[2x16]" && wide.executors.map(_.memoryNodes.size) == Vector(1, 1)
    )
    assert(planned(quota(large, 4)).master == "local[4]")
    assert(planned(quota(large, 8)).master == "local-numa[1x8]")
    assert(planned(quota(large, 24)).master == "local-numa[2x12]")
  }

  test("executors on a part of the nodes have the whole of the cgroup's memory limit") {
    val all = planned(quota(large, 64, Some(32)))
    val part = planned(quota(large, 32, Some(32)))
    def heaps(plan: Plan) = plan.executors.map(_.heapMb).sum
    assert(
      part.executors.size == 2 && heaps(part) > heaps(all) * 9 / 10,
      s"${heaps(part)} of ${heaps(all)}"
    )
    assert(heaps(part) < 32 * 1024 * 9 / 10)
  }

  private def granted(machine: Topology, limits: BatchLimit*) =
    machine.copy(allowed = machine.allowed.copy(batch = limits.toVector))

  test(
    "what a batch system gave the job bounds the plan as a quota does, with its variable as the reason"
  ) {
    def cpus(n: Double) = BatchLimit("Slurm", "SLURM_CPUS_ON_NODE", cpus = Some(n))
    def memory(gb: Long) = BatchLimit("Slurm", "SLURM_MEM_PER_NODE", memoryBytes = Some(gb << 30))
    for (n <- Vector(1.0, 2.0, 4.0, 24.0)) {
      val plan = planned(granted(large, cpus(n)))
      assert(plan.executors == planned(quota(large, n)).executors, n)
      assert(
        reason(plan, "cpu quota").isEmpty && reason(plan, "batch limit")
          .exists(_.value.startsWith(s"SLURM_CPUS_ON_NODE = ${n.toInt} CPU"))
      )
    }
    val four = planned(granted(large, cpus(4)))
    assert(four.reasons.head.because.startsWith("SLURM_CPUS_ON_NODE is worth 4 tasks at once"))
    val both = planned(granted(quota(large, 2), cpus(4)))
    assert(slots(both) == 2 && reason(both, "batch limit").isEmpty, "the kernel's is tighter")
    val ample = planned(granted(large, cpus(64), memory(512)))
    assert(ample.executors == planned(large).executors && reason(ample, "batch limit").isEmpty)

    val little = planned(granted(large, memory(64)))
    assert(little.memoryMb <= 64 * 1024 * 9 / 10)
    assert(little.memoryMb > 64 * 1024 * 3 / 4)
    assert(reason(little, "batch limit").map(_.value).contains("SLURM_MEM_PER_NODE = 64 GB"))
    assert(reason(little, "memory").exists(_.because.contains("or of SLURM_MEM_PER_NODE (64 GB)")))
    val none = Planner.plan(granted(large, memory(0)), Workload.unknown, Limits.none, IdSet.empty)
    assert(none.left.exists(_.remedy.startsWith("raise SLURM_MEM_PER_NODE (0 MB)")))
  }

  test("what a batch system says and cannot be believed limits nothing, and the plan says so") {
    val bad = BatchLimit("PBS", "NCPUS", ignored = Some("'x': it is not a number of CPUs"))
    val plan = planned(granted(large, bad))
    assert(plan.executors == planned(large).executors)
    assert(
      reason(plan, "batch limit").exists(r =>
        r.value == "NCPUS ignored" && r.because.startsWith("'x': ")
      )
    )
  }

  test("what the user asked for wins over the quota, and the plan says what that means") {
    val asked = planned(quota(large, 4), limits(Some(4), Some(4)))
    assert(asked.master == "local-numa[4x4]" && processors(asked).flatten == Vector(1, 1, 1, 1))
    val said = reason(asked, "cpu quota").fold("")(_.because)
    assert(
      said.contains(
        "--executors and --cores make 16 task slots, and the cgroup's CPU time is worth 4"
      )
    )
    assert(planned(quota(large, 2), limits(Some(4), None)).master == "local-numa[4x1]")
    assert(planned(quota(large, 6), limits(None, Some(4))).master == "local-numa[1x4]")
    assert(planned(quota(large, 2), limits(None, Some(4))).master == "local-numa[1x4]")
    assert(slots(planned(quota(large, 1), limits(None, None, "spark.task.cpus" -> "2"))) == 2)
    val own = planned(
      quota(large, 16),
      limits(None, None, "spark.executor.extraJavaOptions" -> "-XX:ActiveProcessorCount=3")
    )
    assert(processors(own).flatten.isEmpty)
    assert(reason(own, "active processors").exists(r => r.value == "3" && r.source == "user"))
    assert(slots(planned(quota(large, 16), limits(None, None, "spark.cores.max" -> "12"))) == 12)
  }

  test(
    "isolated CPUs are left out, with their memory's share kept, unless the mask has no others"
  ) {
    val isolated = large.copy(isolated = IdSet.from(0 to 3))
    val plan = planned(isolated)
    val used = IdSet.union(plan.executors.map(_.cpus))
    assert(used == (large.cpus &~ IdSet.from(0 to 3)))
    val said = reason(plan, "isolated CPUs").fold("")(r => r.value + r.because)
    assert(said.contains("0-3 left alone") && said.contains("taskset -c 0-3"))
    assert(!reason(plan, "cpus").exists(_.because.contains("occupied")))
    val asked = planned(isolated.copy(allowed = isolated.allowed.copy(cpus = IdSet.from(1 to 3))))
    assert(asked.executors.map(_.cpus) == Vector(IdSet.from(1 to 3)))
    assert(reason(asked, "isolated CPUs").exists(_.because.contains("--cores 1")))
    assert(reason(planned(large), "isolated CPUs").isEmpty)
  }

  test("CPUs without a timer are used, and a plan says what that costs; isolated ones stay out") {
    val tickless = large.copy(tickless = IdSet.from(2 to 5))
    val plan = planned(tickless)
    assert(IdSet.union(plan.executors.map(_.cpus)) == large.cpus)
    assert(reason(plan, "nohz_full CPUs").exists(_.value == "2-5 used"))
    val both = planned(tickless.copy(isolated = IdSet.from(0 to 3)))
    assert(reason(both, "nohz_full CPUs").exists(_.value == "4-5 used"))
    assert(reason(planned(large), "nohz_full CPUs").isEmpty)
  }

  test(
    "limits of tasks that a plan's threads exceed are said before it runs; too few to start are refused"
  ) {
    val enough = planned(tasks(large, 4000, Some(100)))
    assert(reason(enough, "threads").isEmpty)
    val tight = planned(tasks(large, 500, Some(50)))
    val said = reason(tight, "threads").fold("")(_.because)
    assert(said.contains("pids.max allows 500: 50 exist already; threads of 4 executors"), said)
    val user = planned(tasks(large, 450, None, "RLIMIT_NPROC"))
    assert(reason(user, "threads").exists(_.because.contains("ulimit -u")))
    val none = planning(tasks(large, 200, Some(50)))
    val refused = none.left.map(_.message).left.getOrElse("")
    assert(refused.startsWith("pids.max: 200 does not fit: 50 exist already"), refused)
    assert(!(said + refused).contains("  "), said + refused)
    assert(refused.endsWith("ask for fewer executors"))
    val fewer = planned(tasks(large, 300, Some(50)), limits(Some(2), None))
    assert(fewer.executors.size == 2)
  }
}
