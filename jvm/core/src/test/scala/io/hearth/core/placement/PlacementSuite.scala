package io.hearth.core.placement

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.launch.Binding
import io.hearth.core.topology.IdSet

class PlacementSuite extends AnyFunSuite {

  private val maps = Vector(
    "55d0c8a00000 bind:1 file=/usr/bin/java mapped=1 N0=1 kernelpagesize_kB=4",
    "700000000000 bind:1 anon=512 dirty=512 N1=512 kernelpagesize_kB=4",
    "7f0000000000 bind:1 anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=2048",
    "7f1111111111 default heap anon=10 dirty=10 N1=10 kernelpagesize_kB=64",
    "7ffd00000000 bind:1 stack"
  )

  test(
    "anonymous memory is counted for each node by its page size, and mappings of files are left out"
  ) {
    val summary = NumaMaps.summarise(maps.iterator)
    val huge = 2048L * 1024
    assert(summary.anonymousBytes == Map(0 -> huge, 1 -> (512 * 4096L + 2 * huge + 10 * 65536L)))
    assert(summary.policies == Map("bind:1" -> 3, "default" -> 1))
  }

  private val planned = Binding(IdSet(4, 5), IdSet(1))
  private val right =
    ProcessPlacement(1, IdSet(4, 5), IdSet(0, 1), Map("bind:1" -> 9), Map(1 -> 1000L), Map(4 -> 2))

  test("an executor where the plan says has no drift, though its cpuset allows more memory nodes") {
    assert(PlacementCheck.drift(planned, right).isEmpty)
  }

  test("a cpuset that holds the planned memory nodes alone binds without a memory policy") {
    val policies = Map("default" -> 9)
    val contained = right.copy(memsAllowed = IdSet(1), policies = policies)
    assert(PlacementCheck.drift(planned, contained).isEmpty)
    assert(PlacementCheck.drift(planned, right.copy(policies = policies)).nonEmpty)
    assert(
      PlacementCheck.drift(planned, contained.copy(anonymousBytes = Map(0 -> 20L, 1 -> 980L))) ==
        Vector("has 2.0 % of its anonymous memory outside nodes 1")
    )
  }

  test("one CPU more, one less, another policy, memory elsewhere: each is drift, and says which") {
    def drift(actual: ProcessPlacement) = PlacementCheck.drift(planned, actual)
    assert(
      drift(right.copy(cpusAllowed = IdSet(4, 5, 6))) == Vector("may run on CPUs 4-6, planned 4-5")
    )
    assert(drift(right.copy(cpusAllowed = IdSet(4))) == Vector("may run on CPUs 4, planned 4-5"))
    assert(
      drift(right.copy(policies = Map("bind:1" -> 9, "default" -> 1))) ==
        Vector("has anonymous mappings under policy default, planned bind:1")
    )
    assert(
      drift(right.copy(anonymousBytes = Map(0 -> 20L, 1 -> 980L))) ==
        Vector("has 2.0 % of its anonymous memory outside nodes 1")
    )
    assert(drift(right.copy(anonymousBytes = Map(0 -> 9L, 1 -> 991L))).isEmpty)
  }

  test("this process is found where it is, with its threads and its memory") {
    val mine = ProcessPlacement.read(Path.of("/proc"), ProcessHandle.current.pid)
    mine match {
      case Some(Right(placement)) =>
        assert(placement.cpusAllowed.nonEmpty)
        assert(placement.anonymousTotal > 10L * 1024 * 1024)
        assert(placement.threadsOnCpu.values.sum > 5)
      case other => fail(s"not readable: $other")
    }
  }

  test("a process that is gone is absent, not an error") {
    val process = new ProcessBuilder("true").start()
    process.waitFor()
    assert(ProcessPlacement.read(Path.of("/proc"), process.pid).isEmpty)
    assert(PlacementReport.startTicks(Path.of("/proc"), process.pid).isEmpty)
  }

  test("another process that has come to a dead executor's id is not taken for it") {
    val pid = ProcessHandle.current.pid
    val ticks = PlacementReport.startTicks(Path.of("/proc"), pid).get
    def verdict(startTicks: Long) = {
      val subject = Subject("3", 0, "127.78.0.1", pid, startTicks, planned, bound = true)
      PlacementReport.take(Path.of("/proc"), "app", Vector(subject)).findings.head.verdict
    }
    assert(verdict(ticks + 1) == "gone")
    assert(verdict(ticks) == "drift")
  }

  test("a report taken again from its file names the same executors") {
    val directory = Files.createTempDirectory("placement")
    try {
      val pid = ProcessHandle.current.pid
      val ticks = PlacementReport.startTicks(Path.of("/proc"), pid).get
      val subject = Subject("0", 2, "127.78.0.1", pid, ticks, planned, bound = false)
      val report = PlacementReport.take(Path.of("/proc"), "app-1", Vector(subject))
      Files.writeString(
        directory.resolve("placement.json"),
        io.hearth.core.json.Json.pretty(report.toJson)
      )
      val again = PlacementReport.retake(Path.of("/proc"), directory)
      assert(again.appId == "app-1")
      assert(again.findings.map(_.subject) == Vector(subject))
      assert(again.findings.head.verdict == "unbound")
    } finally {
      Files.deleteIfExists(directory.resolve("placement.json"))
      Files.delete(directory)
    }
  }
}
