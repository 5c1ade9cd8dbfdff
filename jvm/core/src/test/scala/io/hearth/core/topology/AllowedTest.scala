package io.hearth.core.topology

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.{Limits, Planner, Workload}
import io.hearth.core.testing.Temporary
import io.hearth.core.topology.Fixture.Cpu

class AllowedTest extends AnyFunSuite {

  test("a cpuset without CPU 0 is honoured, memory nodes too (cgroup version 1, oldest form)") {
    val allowed = Machines.cpusetWithoutCpu0.read().allowed
    assert(allowed == Allowed(ids("4-6,12-14"), ids("1"), None))
  }

  test("in nested version 2 groups the nearest cpuset and the tightest memory limit hold") {
    val allowed = Machines.nestedCgroup2.read().allowed
    assert(allowed == Allowed(ids("1-3,9-11"), ids("0"), Some(8L << 30)))
  }

  test(
    "a group without a cpuset of its own has its parent's, also where /proc/self/cpuset is absent"
  ) {
    val allowed = Machines.nestedCgroup2.without("proc/self/cpuset").read().allowed
    assert(allowed.cpus == ids("1-3,9-11") && allowed.nodes == ids("0"))
  }

  test(
    "memory above which the kernel slows a group down (memory.high) is a limit, of a parent too"
  ) {
    def limit(files: (String, String)*) =
      files
        .foldLeft(Machines.nestedCgroup2) { case (f, (file, text)) =>
          f.set(s"sys/fs/cgroup/kube/$file", text)
        }
        .read()
        .allowed
        .memoryLimitBytes
    assert(limit("memory.high" -> "1073741824", "memory.max" -> "2147483648").contains(1L << 30))
    assert(limit("memory.high" -> "max", "memory.max" -> "1073741824").contains(1L << 30))
  }

  test("a limit of a process's addresses or data is warned of: a JVM reserves more than its heap") {
    def warnings(line: String) = Machines.twoNodes
      .set("proc/self/limits", s"Limit  Soft Limit  Hard Limit  Units\n$line")
      .read()
      .warnings
    val said = warnings("Max address space    8589934592    unlimited    bytes")
    assert(said.exists(w => w.contains("8192 MB") && w.contains("ulimit -v unlimited")))
    assert(warnings("Max data size  1073741824  unlimited  bytes").exists(_.contains("ulimit -d")))
    assert(warnings("Max address space    unlimited    unlimited    bytes").isEmpty)
  }

  test("version 1: the group's memory limit is read, its huge number for none is no limit") {
    val v1 = Machines.twoNodes
      .set(
        "proc/mounts",
        "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n" +
          "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n" +
          "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0"
      )
      .set("proc/self/cgroup", "9:memory:/user/a\n5:cpuset:/user\n0::/other")
      .set("sys/fs/cgroup/cpuset/user/cpuset.cpus", "2-3")
      .set("sys/fs/cgroup/cpuset/user/cpuset.effective_cpus", "3")
      .set("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
      .set("sys/fs/cgroup/memory/user/memory.limit_in_bytes", "4294967296")
      .set("sys/fs/cgroup/memory/user/a/memory.limit_in_bytes", "9223372036854771712")
    assert(v1.read().allowed == Allowed(ids("3"), ids("0-1"), Some(4L << 30)))
    val unlimited = v1.without("sys/fs/cgroup/memory/user/memory.limit_in_bytes")
    assert(unlimited.read().allowed.memoryLimitBytes.isEmpty)
  }

  test("a container whose mount shows its own group only is read there (mountinfo's root)") {
    val container = Machines.twoNodes
      .set(
        "proc/self/mountinfo",
        "30 25 0:26 /docker/abc /sys/fs/cgroup/cpuset ro,nosuid shared:9 - cgroup cgroup rw,cpuset\n" +
          "31 25 0:27 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory"
      )
      .set("proc/self/cgroup", "5:cpuset:/docker/abc\n4:memory:/docker/abc/inner")
      .set("proc/self/cpuset", "/docker/abc")
      .set("sys/fs/cgroup/cpuset/cpuset.cpus", "5")
      .set("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648")
      .set("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "1073741824")
    assert(container.read().allowed == Allowed(ids("5"), ids("0-1"), Some(1L << 30)))
  }

  test("a group outside what is mounted (another namespace's) means the mounted one") {
    val container = Machines.twoNodes
      .cgroup2("/../other", "/cpuset.cpus.effective" -> "6-7", "/memory.max" -> "1073741824")
    assert(container.read().allowed == Allowed(ids("6-7"), ids("0-1"), Some(1L << 30)))
  }

  test(
    "a mount of another namespace (root /..) has the group that lists this process, else a warning"
  ) {
    val foreign = Machines.twoNodes
      .set("proc/self/mountinfo", "30 25 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
      .set("proc/self/cgroup", "0::/")
      .set("proc/self/stat", "71 (java) S 1")
      .set("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids")
      .set("sys/fs/cgroup/cgroup.procs", "1\n7")
      .set("sys/fs/cgroup/others/cgroup.procs", "8\n171")
      .set("sys/fs/cgroup/others/memory.max", "1073741824")
      .set("sys/fs/cgroup/ours/memory.max", "4294967296")
    val found = foreign.set("sys/fs/cgroup/ours/cgroup.procs", "9\n71").read()
    assert(found.allowed.memoryLimitBytes.contains(4L << 30) && found.warnings.isEmpty)
    for (
      unseen <- Seq(
        foreign.set("sys/fs/cgroup/ours/cgroup.procs", "9"),
        Machines.twoNodes.cgroup2("/../other", "/memory.max" -> "max")
      )
    ) {
      val read = unseen.read()
      assert(read.allowed.memoryLimitBytes.isEmpty)
      assert(
        read.warnings.exists(
          _.contains("the limits of this process's control group are not visible")
        )
      )
    }
  }

  test("affinity, cpuset and what is online are intersected") {
    val bound = Machines.cpusetWithoutCpu0
      .offline(IdSet(5))
      .set(
        "proc/self/status",
        "Name: java\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-5\nMems_allowed_list:\t0-1"
      )
    assert(bound.read().allowed == Allowed(ids("4"), ids("1"), None))
    val older =
      Machines.twoNodes.set("proc/self/status", "Cpus_allowed:\t0000000c\nMems_allowed:\t2")
    assert(older.read().allowed == Allowed(ids("2-3"), ids("1"), None))
  }

  test(
    "a cpuset file that contradicts the affinity is another group's: the affinity is used, with a warning"
  ) {
    val t = Machines.cpusetWithoutCpu0.set("proc/self/status", "Cpus_allowed_list:\t0-3").read()
    assert(t.allowed.cpus == ids("0-3"))
    assert(
      t.warnings.exists(
        _.contains("the affinity mask allows CPUs 0-3, the cgroup's cpuset 4-6,12-14")
      )
    )
  }

  test("memory nodes allowed that do not exist are replaced by all, with a warning") {
    val t = Machines.twoNodes.set("proc/self/status", "Mems_allowed_list:\t7").read()
    assert(t.allowed.nodes == ids("0-1") && t.warnings.exists(_.contains("not among 0-1")))
  }

  test("a container's own list of online CPUs (lxcfs) does not hide those that it may run on") {
    def container(online: String, mask: String) = Machines.twoNodes
      .set(s"$Cpu/online", online)
      .set("proc/self/status", s"Cpus_allowed_list:\t$mask")
    for ((online, mask) <- Vector("0" -> "1", "0-1" -> "1-2", "0" -> "0,9")) {
      val t = container(online, mask).read()
      assert(t.allowed.cpus == ids(mask) && t.cpus == ids("0-15"), online)
      assert(
        t.warnings.exists(_.startsWith(s"$Cpu/online says $online, and this process may run on"))
      )
      assert(Planner.plan(t, Workload.unknown, Limits.none, IdSet.empty).isRight)
    }
    val whole = container("0-15", "0-31").read()
    assert(whole.allowed.cpus == ids("0-15") && whole.warnings.isEmpty)
    val off = container("0-7", "0-15").offline(ids("4-7")).read()
    assert(off.allowed.cpus == ids("0-3,8-15"))
  }

  test("CPUs that sysfs does not show at all are used where this process may run on no others") {
    val others = (0 to 15).filter(_ != 0).map(cpu => s"$Cpu/cpu$cpu")
    for (
      hidden <- Vector(
        Machines.twoNodes.without(others),
        Machines.twoNodes.without(Cpu).set(s"$Cpu/x", "")
      )
    )
      for (online <- Vector("0", "")) {
        val t =
          hidden.set(s"$Cpu/online", online).set("proc/self/status", "Cpus_allowed_list:\t3").read()
        assert(
          t.allowed.cpus == ids("3") && t.warnings.exists(_.contains("this process may run on 3")),
          t.warnings
        )
        assert(Planner.plan(t, Workload.unknown, Limits.none, IdSet.empty).isRight)
      }
  }

  test("where /proc/self/cgroup is hidden, the limits of the mounted group hold") {
    val hidden = Machines.twoNodes
      .cgroup2("/", "/memory.max" -> "1073741824", "/cpu.max" -> "150000 100000")
      .without("proc/self/cgroup")
      .read()
      .allowed
    assert(hidden.memoryLimitBytes.contains(1L << 30) && hidden.cpuQuota.map(_.cpus).contains(1.5))
  }

  private val inV1 = Machines.twoNodes
    .set(
      "proc/mounts",
      "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" +
        "cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0"
    )
    .set("proc/self/cgroup", "9:cpu,cpuacct:/a/b\n5:pids:/p/q")
    .set("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1")
    .set("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000")
    .set("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "125000")
    .set("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000")
    .set(
      "sys/fs/cgroup/cpu,cpuacct/a/cpu.stat",
      "nr_periods 9\nnr_throttled 4\nthrottled_time 7000000"
    )
    .set("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "400000")
    .set("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000")
    .set("sys/fs/cgroup/pids/p/pids.max", "100")
    .set("sys/fs/cgroup/pids/p/pids.current", "70")
    .set("sys/fs/cgroup/pids/p/q/pids.max", "50")
    .set("sys/fs/cgroup/pids/p/q/pids.current", "10")

  private val inV2 = Machines.twoNodes
    .cgroup2(
      "/a/b",
      "/a/cpu.max" -> "250000 100000",
      "/a/cpu.stat" -> "usage_usec 1\nnr_throttled 4\nthrottled_usec 7000",
      "/a/b/cpu.max" -> "max 100000",
      "/a/pids.max" -> "100",
      "/a/pids.current" -> "70",
      "/a/b/pids.max" -> "max"
    )

  test(
    "the smallest CPU quota of the group and its ancestors holds, with what it has stopped (versions 1 and 2)"
  ) {
    for (machine <- Vector(inV1, inV2))
      assert(machine.read().allowed.cpuQuota.contains(CpuQuota(2.5, Some(4), Some(7000))))
    assert(inV2.set("sys/fs/cgroup/a/cpu.max", "max 100000").read().allowed.cpuQuota.isEmpty)
    for (wrong <- Vector("1 0", "-5 100000", "x", "9223372036854775807 1")) {
      val t = inV2.set("sys/fs/cgroup/a/cpu.max", wrong).read()
      assert(
        t.allowed.cpuQuota.isEmpty && t.warnings.exists(_.contains("a/cpu.max is ignored")),
        wrong
      )
    }
  }

  test(
    "the limit of tasks that leaves least is shown, and the user's unless a capability lifts it"
  ) {
    for (machine <- Vector(inV1, inV2))
      assert(machine.read().allowed.taskLimits == Vector(TaskLimit("pids.max", 100, Some(70))))
    val limits =
      "Limit   Soft Limit  Hard Limit  Units\nMax processes     300      400      processes"
    val user = Machines.twoNodes.set("proc/self/limits", limits)
    assert(user.read().allowed.taskLimits == Vector(TaskLimit("RLIMIT_NPROC", 300, None)))
    val root = user.set("proc/self/status", "CapEff:\t000001ffffffffff")
    assert(root.read().allowed.taskLimits.isEmpty)
    assert(
      user.set("proc/self/limits", "Max processes unlimited x").read().allowed.taskLimits.isEmpty
    )
  }

  test("limits are in a capture and in a topology document") {
    for (
      machine <- Vector(inV1, inV2, inV2.set("proc/self/limits", "Max processes 300 400 processes"))
    ) {
      val marked = machine.set(s"$Cpu/isolated", "2-3,40").set(s"$Cpu/nohz_full", "3")
      val read = marked.in(root => TopologyReader.read(root, ""))
      assert(
        read.isolated == ids("2-3") && read.tickless == ids("3") && read.allowed.cpuQuota.nonEmpty
      )
      val captured = marked.in { root =>
        Temporary.directory { directory =>
          val file = new Gatherer(root).write(directory.resolve("m.tar.gz"), force = false).output
          TopologyReader.load(Some(file.toString)).copy(source = "")
        }
      }
      assert(captured == read && TopologyJson.read(TopologyJson.write(read)) == read)
    }
    assert(Machines.twoNodes.set(s"$Cpu/nohz_full", "(null)").read().warnings.isEmpty)
  }

  private def ids(text: String): IdSet = IdSet.parse(text).fold(fail(_), identity)
}
