package io.hearth.core.topology

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError

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

  test("a parent's memory limit holds where the group's own is wider") {
    val allowed =
      Machines.nestedCgroup2.set("sys/fs/cgroup/kube/memory.max", "1073741824").read().allowed
    assert(allowed.memoryLimitBytes.contains(1L << 30))
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

  test("no CPU allowed is one clear error with all three sets") {
    val none = Machines.cpusetWithoutCpu0.set("proc/self/status", "Cpus_allowed_list:\t0-3")
    val error = intercept[UserError](none.read())
    assert(
      error.getMessage.contains(
        "no CPU is allowed: 0-15 are online, the affinity allows 0-3, the cgroup 4-6,12-14"
      )
    )
  }

  test("memory nodes allowed that do not exist are replaced by all, with a warning") {
    val t = Machines.twoNodes.set("proc/self/status", "Mems_allowed_list:\t7").read()
    assert(t.allowed.nodes == ids("0-1") && t.warnings.exists(_.contains("not among 0-1")))
  }

  private def ids(text: String): IdSet = IdSet.parse(text).fold(fail(_), identity)
}
