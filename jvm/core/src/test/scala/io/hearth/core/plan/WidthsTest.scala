package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Required
import io.hearth.core.topology.{Captures, IdSet, MachineSpec, Topology, TopologyReader}

/** How wide executors are, on which machine and for what work, and that the plan says by which rule. */
class WidthsTest extends AnyFunSuite with Planning {
  private val gigabyte = 1L << 30

  private def plan(machine: String, kind: Option[WorkloadKind] = None, input: Option[Long] = None) =
    planned(described(machine), workload = Workload(kind, input.map(_ * gigabyte)))

  private def reason(plan: Plan, name: String) = reasonOf(plan, name)
  private def width(plan: Plan) = plan.executors.map(_.taskSlots).max

  test("slots count, not cores: threads of cores make the same plan as as many cores") {
    for (cores <- Seq(4, 8, 12, 16, 24, 28, 48)) {
      val threads = plan(s"2 nodes of 256 GB, $cores cores x 2 threads")
      val single = plan(s"2 nodes of 256 GB, ${cores * 2} cores")
      assert(threads.master == single.master, cores)
    }
  }

  test("an executor is a cache, else a node, of 12 to 32 slots, else an even division near 16") {
    val sixteen = "2 nodes of 128 GB, 16 cores x 2 threads"
    for (
      (machine, master, rule) <- Seq(
        (sixteen, "local-numa[2x32]", "a node with 12 to 32"),
        (s"$sixteen, l3 of 8 cores", "local-numa[4x16]", "a last-level cache"),
        (s"$sixteen, l3 of 4 cores", "local-numa[2x32]", "a node with 12 to 32"),
        ("2 nodes of 256 GB, 24 cores x 2 threads", "local-numa[6x16]", "division nearest 16"),
        ("2 nodes of 256 GB, 26 cores x 2 threads", "local-numa[4x26]", "division nearest 16"),
        ("2 nodes of 512 GB, 64 cores x 2 threads", "local-numa[8x32]", "division into 24 to 32"),
        ("8 nodes of 512 GB, 28 cores x 2 threads", "local-numa[16x28]", "division into 24 to 32"),
        ("2 nodes of 64 GB, 8 cores", "local-numa[2x8]", "a node with 8 to 11"),
        ("16 nodes of 16 GB, 2 cores", "local-numa[2x16]", "fewer than 8 task slots are joined")
      )
    ) {
      val got = plan(machine)
      assert(got.master == master, machine)
      assert(reason(got, "executors").because.contains(rule), machine)
      assert(reason(got, "executors").source.contains("hearth"), machine)
    }
  }

  test(
    "kinds that keep their data on the heap get executors of eight, as far as memory holds their heaps"
  ) {
    val rich = "2 nodes of 256 GB, 16 cores x 2 threads"
    for (kind <- Seq(WorkloadKind.Ml, WorkloadKind.Graph)) {
      assert(plan(rich, Some(kind)).master == "local-numa[8x8]")
      assert(reason(plan(rich, Some(kind)), "executors").because.contains("4 GB for each slot"))
      assert(
        plan("2 nodes of 64 GB, 16 cores x 2 threads", Some(kind)).master == "local-numa[4x16]"
      )
      val cached = plan("2 nodes of 768 GB, 128 cores x 2 threads, l3 of 8 cores", Some(kind))
      assert(
        cached.master == "local-numa[32x16]",
        "whole caches, near the 20 heaps that a node holds"
      )
      assert(
        plan("2 nodes of 32 GB, 16 cores x 2 threads", Some(kind)).master == "local-numa[2x32]"
      )
    }
    for (kind <- Seq(WorkloadKind.Sql, WorkloadKind.Etl))
      assert(plan(rich, Some(kind), Some(500)).master == "local-numa[2x32]")
  }

  test(
    "one node of few slots is one JVM, unless the input needs more heap than one and kind has no other"
  ) {
    val one = "1 node of 128 GB, 8 cores x 2 threads"
    assert(plan(one).mode == PlanMode.Native && plan(one, input = Some(5)).mode == PlanMode.Native)
    val larger = plan(one, input = Some(40))
    assert(larger.master == "local-numa[2x8]")
    assert(reason(larger, "partition").because.contains("the input needs 200 GB of heap"))
    assert(reason(larger, "executors").because.contains("as many heaps"))
    assert(plan(one, Some(WorkloadKind.Ml), Some(40)).master == "local-numa[2x8]")
    assert(plan(one, Some(WorkloadKind.Sql), Some(40)).mode == PlanMode.Native)
    val poor = plan("1 node of 32 GB, 8 cores x 2 threads", input = Some(40))
    assert(poor.mode == PlanMode.Native, "two heaps would hold no more")
  }

  test("on eight sockets of 15 cores partitions are as wide as the container study found best") {
    for (
      (sockets, input, master) <- Seq(
        (1, Some(4L), "local[15]"),
        (2, Some(4L), "local-numa[2x15]"),
        (4, Some(4L), "local-numa[4x15]"),
        (7, None, "local-numa[7x15]"),
        (8, Some(4L), "local-numa[4x30]"),
        (8, None, "local-numa[4x30]")
      )
    ) {
      val got = plan(s"$sockets packages, $sockets nodes of 99 GB, 15 cores", input = input)
      assert(got.master == master, sockets)
    }
    val whole = plan("8 packages, 8 nodes of 99 GB, 15 cores", input = Some(4))
    assert(reason(whole, "executors").because.contains("had stragglers"))
    assert(reason(whole, "executors").source == "Kyong 2017; hearth")
    val heaps = plan("8 packages, 8 nodes of 99 GB, 15 cores", Some(WorkloadKind.Ml))
    assert(width(heaps) <= 8, "narrower for what it keeps on the heap")
  }

  test(
    "on 120 slots or more, caches and nodes of 16 slots are joined in twos, nodes of 17 are not"
  ) {
    for (
      (machine, master) <- Seq(
        ("2 nodes of 512 GB, 64 cores x 2 threads, l3 of 8 cores", "local-numa[8x32]"),
        ("8 nodes of 64 GB, 8 cores x 2 threads", "local-numa[4x32]"),
        ("12 nodes of 64 GB, 10 cores", "local-numa[4x30]"),
        ("32 nodes of 64 GB, 4 cores", "local-numa[4x32]"),
        ("8 nodes of 64 GB, 17 cores", "local-numa[8x17]"),
        ("7 nodes of 64 GB, 16 cores", "local-numa[7x16]")
      )
    )
      assert(plan(machine).master == master, machine)
    val nodes = "32 nodes of 48 GB, 8 cores x 2 threads"
    assert(plan(nodes).master == "local-numa[16x32]")
    assert(plan(nodes, Some(WorkloadKind.Ml)).master == "local-numa[32x16]", "its heaps are needed")
    assert(plan(nodes, input = Some(100)).master == "local-numa[32x16]", "its heaps are needed")
  }

  test("a small input on a large machine gets whole nodes, as far as one JVM scales") {
    val large = "2 packages, 2 nodes of 768 GB, 128 cores x 2 threads, l3 of 8 cores"
    assert(plan(large).executors.size == 16)
    val small = plan(large, input = Some(1))
    assert(small.executors.size == 16 && width(small) < 60)
    assert(
      plan("4 nodes of 64 GB, 28 cores x 2 threads", input = Some(1)).master == "local-numa[4x56]"
    )
    assert(reason(small, "executors").because.contains("one heap would hold the input"))
    assert(IdSet.union(small.executors.map(_.cpus)) == MachineSpec.parse(large).cpus)
  }

  test(
    "memory beyond the largest heaps goes off the heap for SQL, and is said to be unused otherwise"
  ) {
    val machine = "8 packages, 8 nodes of 1400 GB, 28 cores x 2 threads"
    val sql = plan(machine, Some(WorkloadKind.Sql))
    val used = sql.executors.map(e => e.heapMb + e.offHeapMb + e.overheadMb).sum / 1024
    assert(used > 11200 * 7 / 10, s"$used GB")
    assert(!sql.reasons.exists(_.decision == "unused memory"))
    val said = reason(plan(machine), "unused memory")
    assert(said.value.endsWith("TB"))
    assert(said.because.endsWith("--input with their size plans as many heaps as they need"))
    val known = reason(plan(machine, None, Some(1)), "unused memory").because
    assert(known.endsWith("--executors 56 gives it to more heaps"), known)
    val small = plan(machine, Some(WorkloadKind.Sql), Some(1))
    assert(small.executors.forall(e => e.offHeapMb <= e.heapMb), "a small input needs no more")
    val fixed = planned(described(machine), Limits(None, None, Some(20480L), Map.empty))
    assert(!fixed.reasons.exists(_.decision == "unused memory"), "the user chose the heap")
    assert(!plan("1 node of 16 GB, 4 cores").reasons.exists(_.decision == "unused memory"))
  }

  private def hybrid(fast: Int, slow: Int): Topology = {
    val machine = MachineSpec.parse(s"1 node of 64 GB, ${fast + slow} cores")
    machine.copy(cores = machine.cores.zipWithIndex.map { case (core, i) =>
      if (i < fast) core.copy(kind = Some("cpu_core"))
      else core.copy(kind = Some("cpu_atom"), efficient = true)
    })
  }

  test(
    "four slower cores of a hybrid machine count as three slots, and no executor has both kinds"
  ) {
    val laptop = planned(hybrid(6, 8))
    assert(laptop.master == "local[12]")
    assert(reason(laptop, "threads per core").because.contains("8 slower cores count as 6"))
    val fast = IdSet.from(0 until 24)
    for (
      got <- Seq(
        planned(hybrid(24, 32)),
        planned(hybrid(24, 32), Limits(Some(3), None, None, Map.empty)),
        planned(hybrid(24, 32), Limits(Some(4), Some(8), None, Map.empty))
      )
    ) {
      assert(got.executors.sizeIs > 1)
      got.executors.foreach(e =>
        assert(e.cpus.subsetOf(fast) != e.cpus.intersects(IdSet.from(24 until 56)))
      )
    }
    assert(planned(hybrid(24, 32)).executors.map(_.taskSlots).sum == 24 + 24)
    val slowOnly = hybrid(2, 8)
    val masked = slowOnly.copy(allowed = slowOnly.allowed.copy(cpus = IdSet.from(2 until 10)))
    assert(planned(masked).master == "local[8]", "all alike")
  }

  test("memory set aside as huge pages is nobody's heap, and that is said") {
    val machine = MachineSpec.parse("2 nodes of 64 GB, 8 cores")
    val database = machine.copy(nodes = machine.nodes.map(_.copy(hugePageBytes = 48 * gigabyte)))
    val got = planned(database)
    assert(got.executors.forall(e => e.heapMb + e.overheadMb < 16 * 1024))
    assert(reason(got, "memory").because.contains("96 GB set aside as huge pages"))
  }

  for (
    (name, master) <- Seq(
      "128arm-2pa2n8cluster4co" -> "local-numa[4x32]",
      "64amd64-4s2n4ca2co" -> "local-numa[8x8]",
      "nvidia-dgx-gb10" -> "local[18]"
    )
  )
    test(s"the captured machine $name is planned as $master") {
      val capture = Captures.shared.find(Captures.name(_) == name)
      Required("shared", capture.nonEmpty, s"../shared/data/machines/$name")
      assert(planned(TopologyReader.load(capture.map(_.toString))).master == master)
    }
}
