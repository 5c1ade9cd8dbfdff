package io.hearth.core.topology

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.{Limits, Planner, Workload}
import io.hearth.core.topology.Fixture.{CoreShape, Node, NodeShape}

/** Which figure holds where the nodes' memory and the machine's disagree. */
class MachineMemoryTest extends AnyFunSuite {

  /** A virtual machine of 2 CPUs and 24 GB some minutes after its start. */
  private val lazily = Fixture(
    Vector.tabulate(2)(i => CoreShape(0, i, IdSet(i))),
    Vector(NodeShape(0, IdSet(0, 1), 1))
  )
    .set(s"$Node/node0/meminfo", "Node 0 MemTotal: 8087764 kB\nNode 0 MemFree: 4052696 kB")
    .set("proc/meminfo", "MemTotal: 24684092 kB\nMemFree: 20648972 kB")

  test("memory that the kernel has not initialised yet is the machine's, with a warning of both") {
    val machine = lazily.read()
    assert(machine.nodes.map(_.memoryBytes) == Vector(24684092L << 10))
    assert(machine.nodes.head.freeBytes.contains(20648972L << 10))
    assert(machine.warnings.exists(w => w.contains("7898 MB") && w.contains("24105 MB")))
  }

  test("where another node is offline, or CPUs are on none, a node has its own memory") {
    val (gigabytes64, gigabytes126) = (64 << 20, 126 << 20)
    val node1 = Fixture(
      Vector.tabulate(4)(i => CoreShape(0, i, IdSet(i))),
      Vector(NodeShape(1, IdSet(2, 3), 1))
    ).set(s"$Node/node1/meminfo", s"Node 1 MemTotal: $gigabytes64 kB")
      .set("proc/meminfo", s"MemTotal: $gigabytes126 kB")
    val all = Vector("cpulist" -> "0-3", "cpumap" -> "f")
    val onNode1 = all.foldLeft(node1) { case (f, (file, text)) =>
      f.set(s"$Node/node1/$file", text)
    }
    for (machine <- Seq(node1.set(s"$Node/possible", "1"), onNode1.set(s"$Node/possible", "0-1"))) {
      val read = machine.read()
      assert(read.nodes.map(_.memoryBytes >> 30) == Vector(64))
      assert(
        read.warnings.exists(w => w.contains("the smaller is used") && w.contains("129024 MB"))
      )
    }
    assert(onNode1.set(s"$Node/possible", "1").read().nodes.map(_.memoryBytes >> 30) == Vector(126))
  }

  test("several nodes have the memory that is present on each") {
    def zone(node: Int, present: Long, managed: Long) =
      s"Node $node, zone   Normal\n        present  $present\n        managed  $managed"
    val gigabytes16 = 4L << 20 // pages of 4 KB
    val machine = lopsided(4 << 20, 16 << 20, 32 << 20)
      .set(
        "proc/zoneinfo",
        s"${zone(0, gigabytes16, 1 << 20)}\n${zone(1, gigabytes16, gigabytes16)}"
      )
      .read()
    assert(machine.nodes.map(_.memoryBytes >> 30) == Vector(16, 16))
    assert(machine.warnings.exists(w => w.contains("20480 MB") && w.contains("32768 MB")))
    val unknown = lopsided(4 << 20, 16 << 20, 32 << 20).read()
    assert(unknown.nodes.map(_.memoryBytes >> 30) == Vector(4, 16))
    assert(unknown.warnings.exists(_.contains("nothing says on which node the rest is")))
  }

  test("a /proc/meminfo with less than the nodes is a container's, and limits what is planned") {
    val machine = lopsided(16 << 20, 16 << 20, 8 << 20).read()
    assert(machine.nodes.map(_.memoryBytes >> 30) == Vector(16, 16))
    assert(machine.allowed.memoryLimitBytes.contains(8L << 30))
    assert(machine.warnings.exists(w => w.contains("32768 MB") && w.contains("8192 MB")))
    val plan = Planner.plan(machine, Workload.unknown, Limits.none, IdSet.empty).toOption.get
    assert(plan.executors.map(e => e.heapMb + e.overheadMb).sum <= 8192)
  }

  test("figures that agree to a few per cent give no warning") {
    assert(lopsided(16 << 20, 16 << 20, (32 << 20) + 400000).read().warnings.isEmpty)
  }

  private def lopsided(firstKb: Long, secondKb: Long, machineKb: Long) = Machines.twoNodes
    .set(s"$Node/node0/meminfo", s"Node 0 MemTotal: $firstKb kB")
    .set(s"$Node/node1/meminfo", s"Node 1 MemTotal: $secondKb kB")
    .set("proc/meminfo", s"MemTotal: $machineKb kB")
}
