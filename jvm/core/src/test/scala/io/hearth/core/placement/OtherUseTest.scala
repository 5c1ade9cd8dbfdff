package io.hearth.core.placement

import java.nio.file.Path
import java.time.Instant
import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.procfs.ProcStat
import io.hearth.core.topology.IdSet

class OtherUseTest extends AnyFunSuite {

  private val place = IdSet(4, 5)
  private val executor = 100L
  private val start = Instant.parse("2026-11-21T09:00:00Z")

  private def stat(
      ticks: Long,
      cpu: Int,
      parent: Long = 1,
      name: String = "stress",
      ticksAt: Long = 7
  ) =
    ProcStat(name, 'R', parent, ofKernel = false, ticks, ticksAt, cpu)

  /** A process for each thread list; `seconds` after the start. */
  private def look(seconds: Int, threads: (Long, Vector[ProcStat])*): ProcessLook = ProcessLook(
    TimeUnit.SECONDS.toNanos(seconds.toLong),
    start.plusSeconds(seconds.toLong),
    threads.map { case (pid, all) => pid -> all.head.copy(ticks = all.map(_.ticks).sum) }.toMap,
    threads.map { case (pid, all) =>
      pid -> all.zipWithIndex.map { case (t, n) => pid + n -> t }.toMap
    }.toMap
  )

  private def between(before: ProcessLook, after: ProcessLook) =
    OtherUse.between(before, after, Set(executor), place, _ => Some("bob"))

  test(
    "a process of others that is busy on the executors' CPUs is said with its time there alone"
  ) {
    val before = look(0, 500L -> Vector(stat(100, 4), stat(50, 9), stat(10, 5)))
    val after = look(10, 500L -> Vector(stat(600, 4), stat(950, 9), stat(10, 5)))
    val found = between(before, after)
    assert(
      found.map(_.sentence) == Vector(
        "process 500 (stress) of bob used 5.0 s of CPU time on CPUs 4 within 10.0 s"
      )
    )
  }

  test("the application's processes, and what descends from them, are not others") {
    def family(ticks: Long) = Vector(
      executor -> Vector(stat(ticks, 4)),
      200L -> Vector(stat(0, 4, parent = executor)),
      300L -> Vector(stat(ticks, 5, parent = 200))
    )
    assert(between(look(0, family(0): _*), look(10, family(900): _*)).isEmpty)
  }

  test("who keeps less than a tenth of a CPU busy there, or runs elsewhere, is not named") {
    val before = look(0, 500L -> Vector(stat(0, 4)), 600L -> Vector(stat(0, 9)))
    assert(
      between(before, look(10, 500L -> Vector(stat(99, 4)), 600L -> Vector(stat(900, 9)))).isEmpty
    )
    assert(between(before, look(10, 500L -> Vector(stat(100, 4)))).size == 1)
  }

  test("another process under the same id, a new thread and a thread of the kernel count nothing") {
    val before = look(0, 500L -> Vector(stat(0, 4)))
    assert(between(before, look(10, 500L -> Vector(stat(900, 4, ticksAt = 8)))).isEmpty)
    assert(between(before, look(10, 500L -> Vector(stat(0, 4), stat(900, 5)))).isEmpty)
    val kernel = stat(0, 4).copy(ofKernel = true)
    assert(
      between(
        look(0, 2L -> Vector(kernel)),
        look(10, 2L -> Vector(kernel.copy(ticks = 900)))
      ).isEmpty
    )
  }

  test("what is seen of one process again and again is one use, from its first to its last") {
    val looks = (0 to 2).map(n => look(10 * n, 500L -> Vector(stat(500L * n, 4 + n % 2))))
    val first = between(looks(0), looks(1)).head
    val both = between(looks(1), looks(2)).head.after(first)
    assert(
      both.sentence == "process 500 (stress) of bob used 10.0 s of CPU time on CPUs 4-5 within 20.0 s"
    )
  }

  test("a name with brackets, blanks and what a terminal acts on is read as the kernel writes it") {
    val rest = (4 to 52).map {
      case 14 => 30L; case 15 => 12L; case 22 => 99L; case 39 => 3L; case 4 => 8L;
      case 9 => 0x200040L; case _ => 0L
    }
    val stat = ProcStat.parse(s"77 (a) (b\u001b[31m) S ${rest.mkString(" ")}\n")
    assert(stat == ProcStat("a) (b?[31m", 'S', 8, ofKernel = true, 42, 99, 3))
  }

  test("on this machine, a process that is busy is found with its CPU and its user") {
    val proc = Path.of("/proc")
    val cpu = ProcStat.read(Path.of("/proc/self")).get.lastCpu
    val busy =
      new ProcessBuilder("taskset", "-c", s"$cpu", "sh", "-c", "while :; do :; done").start()
    try {
      var last = ProcessLook.take(proc, None, System.nanoTime)
      def next(): ProcessLook = {
        Thread.sleep(400)
        ProcessLook.take(proc, Some(last), System.nanoTime)
      }
      last = next()
      val found = OtherUse.between(
        last,
        next(),
        Set(ProcessHandle.current.pid),
        IdSet(cpu),
        OtherUse.owner(proc)
      )
      assert(!found.exists(_.pid == busy.pid), "a child of ours is ours")
      // On a busy machine it may not get a tenth of its CPU at once.
      val use = Iterator
        .continually {
          last = next()
          OtherUse.between(last, next(), Set.empty, IdSet(cpu), OtherUse.owner(proc))
        }
        .take(40)
        .flatMap(_.find(_.pid == busy.pid))
        .nextOption()
        .getOrElse(fail("it is not found"))
      assert(
        use.name == "sh" && use.cpus == IdSet(cpu) && use.user == System.getProperty("user.name")
      )
      assert(use.cpuSeconds > 0.04 && use.cpuSeconds < 5)
    } finally {
      busy.destroyForcibly()
      busy.waitFor()
      ()
    }
  }
}
