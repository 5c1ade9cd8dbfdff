package io.hearth.core.placement

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.launch.Binding
import io.hearth.core.testing.Temporary
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

  test(
    "a heap of ZGC, huge pages and shared anonymous memory are looked at as anonymous memory is"
  ) {
    val memory = Vector(
      "40000000000 bind:1 file=/memfd:java_heap\\040(deleted) dirty=8 mapmax=3 N0=8 kernelpagesize_kB=4",
      "7f2000000000 bind:1 file=/anon_hugepage\\040(deleted) huge dirty=2 N1=2 kernelpagesize_kB=2048",
      "7f3000000000 default file=/dev/zero\\040(deleted) dirty=1 N1=1 kernelpagesize_kB=4",
      "7f4000000000 bind:1 file=/SYSV00000000\\040(deleted) huge dirty=1 N1=1 kernelpagesize_kB=2048",
      "f8000000 bind:1 file=/mnt/pmem/#9979894\\040(deleted) dirty=3 N1=3 kernelpagesize_kB=4",
      "f8000000 bind:1 file=/dev/shm/#15778\\040(deleted) dirty=2 N1=2 kernelpagesize_kB=4"
    )
    val files = Vector(
      "7f5000000000 default file=/dev/shm/ucx_shm_posix_1 dirty=9 N0=9 kernelpagesize_kB=4",
      "7f5000000000 default file=/dev/shm/ucx_shm_posix_1\\040(deleted) dirty=9 N0=9 kernelpagesize_kB=4",
      "7f6000000000 default file=/opt/old.jar\\040(deleted) mapped=9 N0=9 kernelpagesize_kB=4"
    )
    val summary = NumaMaps.summarise((memory ++ files).iterator)
    assert(summary.policies == Map("bind:1" -> 5, "default" -> 1))
    assert(summary.anonymousBytes == Map(0 -> 8 * 4096L, 1 -> (3 * (2L << 20) + 6 * 4096L)))
  }

  private val planned = Binding(IdSet(4, 5), IdSet(1))
  private def thread(tid: Int, cpus: Int*) = ThreadPlacement(tid, s"t$tid", IdSet(cpus: _*), 4)
  private val right = ProcessPlacement(
    1,
    (1 to 40).map(thread(_, 4, 5)).toVector,
    Some(IdSet.from(0 to 7)),
    IdSet(0, 1),
    Map("bind:1" -> 9),
    Map(1 -> 1000L)
  )
  private def drift(actual: ProcessPlacement) =
    PlacementCheck.drift(planned, actual).map(_.sentence)

  /** The first threads of `right` with other CPUs. */
  private def moved(threads: Int, cpus: Int*) = right.copy(threads =
    (1 to threads).map(thread(_, cpus: _*)).toVector ++ right.threads.drop(threads)
  )

  test("an executor where the plan says has no drift, though its cpuset allows more memory nodes") {
    assert(PlacementCheck.drift(planned, right).isEmpty)
  }

  test("CPUs on loan are no drift while they are, and are noted; afterwards they are drift") {
    val wide = right.copy(threads = right.threads.map(_.copy(cpus = IdSet(4, 5, 6))))
    val lent = IdSet(6)
    assert(PlacementCheck.drift(planned, wide, lent).isEmpty)
    assert(
      PlacementCheck.notes(planned, wide, lent) ==
        Vector("may use CPUs 6, which other executors leave idle")
    )
    assert(drift(wide).head.startsWith("has 40 of 40 threads that may run outside CPUs 4-5: "))
    assert(PlacementSample(Map(IdSet(4, 5, 6) -> 9), IdSet(0, 1)).deviations(planned, lent).isEmpty)
    assert(PlacementSample(Map(IdSet(4, 5, 6) -> 9), IdSet(0, 1)).deviations(planned).nonEmpty)
    val elsewhere = PlacementCheck.drift(planned, moved(3, 7), lent).map(_.sentence)
    assert(elsewhere.head.startsWith("has 3 of 40 threads that may run outside CPUs 4-6: "))
    assert(PlacementCheck.drift(planned, moved(30, 4), lent).nonEmpty, "CPU 5 is abandoned")
  }

  test("a cpuset that holds the planned memory nodes alone binds without a memory policy") {
    val policies = Map("default" -> 9)
    val contained = right.copy(memsAllowed = IdSet(1), policies = policies)
    assert(PlacementCheck.drift(planned, contained).isEmpty)
    assert(PlacementCheck.drift(planned, right.copy(policies = policies)).nonEmpty)
    assert(
      drift(contained.copy(anonymousBytes = Map(0 -> 20L, 1 -> 980L))) ==
        Vector("has 2.0 % of its anonymous memory outside node 1")
    )
  }

  test("another policy, memory elsewhere, a cpuset without a planned node: each is drift") {
    assert(
      drift(right.copy(policies = Map("bind:1" -> 9, "default" -> 1))) ==
        Vector("has anonymous mappings under policy default, planned bind:1")
    )
    assert(
      drift(right.copy(anonymousBytes = Map(0 -> 20L, 1 -> 980L))) ==
        Vector("has 2.0 % of its anonymous memory outside node 1")
    )
    assert(drift(right.copy(anonymousBytes = Map(0 -> 9L, 1 -> 991L))).isEmpty)
    val both = Binding(planned.cpus, IdSet(0, 1))
    val narrowed = right.copy(memsAllowed = IdSet(0), policies = Map("bind:0-1" -> 9))
    assert(
      PlacementCheck.drift(both, narrowed).map(_.sentence) ==
        Vector("may not use memory node 1 of its plan: its cpuset allows 0")
    )
  }

  test("one thread that may leave the place is drift and is named, whatever the others may do") {
    assert(
      drift(moved(1, 4, 5, 6)) == Vector(
        "has 1 of 40 threads that may run outside CPUs 4-5: 1 on CPUs 4-6 (t1 1)"
      )
    )
  }

  test(
    "all threads but one pinned elsewhere is drift, with names in a sentence of bounded length"
  ) {
    assert(
      drift(moved(39, 7)) == Vector(
        "has 39 of 40 threads that may run outside CPUs 4-5: 39 on CPUs 7 (t1 1, t2 2, t3 3 and 36 more)"
      )
    )
    val many = right.copy(threads = (1 to 4000).map(n => thread(n, 8 + n % 50)).toVector)
    assert(drift(many).head.length < 300)
    assert(drift(many).head.contains("on others"))
  }

  test("all threads but one pinned to one CPU of the place is drift: the others are left short") {
    assert(
      drift(moved(39, 4)) == Vector(
        "has 39 of 40 threads that may not run on CPUs 5, planned 4-5: 39 on CPUs 4 (t1 1, t2 2, t3 3 and 36 more)"
      )
    )
    assert(drift(moved(40, 4)).nonEmpty)
  }

  test("threads that the application pins inside its place are a note, not drift") {
    assert(drift(moved(6, 4)).isEmpty)
    assert(
      PlacementCheck.notes(planned, moved(6, 4)) == Vector(
        "keeps 6 of 40 threads to some of its CPUs: 6 on CPUs 4 (t1 1, t2 2, t3 3 and 3 more)"
      )
    )
    val spread = right.copy(threads = (1 to 40).map(n => thread(n, 4 + n % 2)).toVector)
    assert(drift(spread).isEmpty)
    assert(PlacementCheck.notes(planned, right).isEmpty)
  }

  test("a planned CPU that is offline is drift, though every thread's mask still has it") {
    val off = right.copy(cpusOnline = Some(IdSet(0, 1, 2, 3, 4, 6, 7)))
    assert(drift(off) == Vector("has CPUs 5 of its plan offline, planned 4-5"))
    assert(drift(right.copy(cpusOnline = None)).isEmpty)
    assert(PlacementCheck.notes(planned, off).isEmpty)
  }

  test("a look finds the same ways to deviate as a reading, from masks alone") {
    def ways(masks: (IdSet, Int)*) = PlacementSample(masks.toMap, IdSet(0, 1)).deviations(planned)
    assert(ways(IdSet(4, 5) -> 40).isEmpty)
    assert(ways(IdSet(4, 5) -> 34, IdSet(4) -> 6).isEmpty)
    assert(ways(IdSet(4, 5) -> 39, IdSet(6) -> 1) == Set("some threads elsewhere"))
    assert(ways(IdSet(4, 5) -> 1, IdSet(6) -> 39) == Set("most threads elsewhere"))
    assert(ways(IdSet(4) -> 40) == Set("CPUs 5 abandoned"))
    assert(PlacementSample(Map(IdSet(4, 5) -> 9), IdSet(0)).deviations(planned) == Set("nodes"))
  }

  test("without numa_maps memory is in the one node that there is, or the process is unreadable") {
    Temporary.directory { root =>
      def read(mems: String) = {
        val process = root.resolve("proc/7")
        Files.createDirectories(process.resolve("task"))
        Files.writeString(process.resolve("status"), s"Name:\tjava\nMems_allowed_list:\t$mems\n")
        ProcessPlacement.read(root, 7).get
      }
      assert(read("0").map(_.anonymousTotal) == Right(0L))
      assert(read("0-1").left.exists(_.contains("numa_maps")))
    }
  }

  test("an executor whose memory could not be bound is not said to be as planned") {
    val subject = Subject("3", 0, "h", 1, 1, planned.copy(memoryNodes = IdSet.empty), bound = true)
    val elsewhere = right.copy(policies = Map("default" -> 9), anonymousBytes = Map(0 -> 9L))
    val finding = Finding(subject, Some(Right(elsewhere)))
    assert(finding.verdict == PlacementVerdict.CpusAsPlanned && finding.drift.isEmpty)
    val moved = Finding(subject, Some(Right(elsewhere.copy(threads = Vector(thread(1, 7))))))
    assert(moved.verdict == PlacementVerdict.Drift)
  }

  test("a heap that the JVM keeps in a file without a name is found, in /dev/shm too") {
    val java = s"${sys.props("java.home")}/bin/java"
    val places = Vector("/var/tmp", "/dev/shm").map(at => Vector(s"-XX:AllocateHeapAt=$at"))
    for (options <- Vector("-XX:+UseZGC") +: places) {
      val command = (java +: options) ++ Vector("-Xmx256m", "-cp", sys.props("java.class.path"))
      val process = new ProcessBuilder(command :+ "io.hearth.core.testing.Idle" :+ "64": _*).start()
      try {
        assert(process.inputReader.readLine() == "ready", options)
        ProcessPlacement.read(Path.of("/"), process.pid) match {
          case Some(Right(placement)) => assert(placement.anonymousTotal > (64L << 20), options)
          case other => fail(s"$options: $other")
        }
      } finally process.destroyForcibly().waitFor()
    }
  }

  test("this process is found where it is, with its threads and its memory") {
    val mine = ProcessPlacement.read(Path.of("/"), ProcessHandle.current.pid)
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
    assert(ProcessPlacement.read(Path.of("/"), process.pid).isEmpty)
    assert(PlacementReport.startTicks(Path.of("/proc"), process.pid).isEmpty)
  }

  test("another process that has come to a dead executor's id is not taken for it") {
    val pid = ProcessHandle.current.pid
    val ticks = PlacementReport.startTicks(Path.of("/proc"), pid).get
    def verdict(startTicks: Long) = {
      val subject = Subject("3", 0, "127.78.0.1", pid, startTicks, planned, bound = true)
      PlacementReport.take(Path.of("/"), "app", Vector(subject)).findings.head.verdict
    }
    assert(verdict(ticks + 1) == PlacementVerdict.Gone)
    assert(verdict(ticks) == PlacementVerdict.Drift)
  }

  test("a report taken again from its file names the same executors") {
    Temporary.directory { directory =>
      val pid = ProcessHandle.current.pid
      val ticks = PlacementReport.startTicks(Path.of("/proc"), pid).get
      val subject = Subject("0", 2, "127.78.0.1", pid, ticks, planned, bound = false)
      val report = PlacementReport.take(Path.of("/"), "app-1", Vector(subject))
      Files.writeString(
        directory.resolve("placement.json"),
        io.hearth.core.json.Json.pretty(report.toJson)
      )
      val again = PlacementReport.retake(Path.of("/"), directory)
      assert(again.appId == "app-1")
      assert(again.findings.map(_.subject) == Vector(subject))
      assert(again.findings.head.verdict == PlacementVerdict.Unbound)
    }
  }
}
