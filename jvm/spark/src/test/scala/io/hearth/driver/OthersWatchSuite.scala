package io.hearth.driver

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.placement.ProcessLook
import io.hearth.core.procfs.ProcStat
import io.hearth.driver.testing.{FakeKernel, FakeProcess, HandDriven, Heard, Places}

class OthersWatchSuite extends AnyFunSuite {

  private class World {
    val clock = new HandDriven
    val kernel = new FakeKernel
    val log = new Heard
    kernel.nanoTime = () => clock.nanoTime
    val watch = new OthersWatch(9, kernel, () => clock.nanoTime, log)
    val place = Places.of(4).head
    private val process = new FakeProcess(100)
    def executors(bound: Boolean = true): Vector[RunningExecutor] =
      Vector(RunningExecutor("0", place, process, process.pid, Option.when(bound)(place.binding)))

    /** Processes that keep a CPU of the executor's place busy all the time, from now on. */
    def busy(pids: Long*): Unit = kernel.shown = nanos => {
      val stats = (pids :+ process.pid).map { pid =>
        pid -> ProcStat(
          s"p$pid",
          'R',
          1,
          ofKernel = false,
          nanos / 10000000,
          7,
          place.cpus.iterator.next()
        )
      }.toMap
      ProcessLook(
        nanos,
        Instant.ofEpochSecond(nanos / 1000000000),
        stats,
        stats.map { case (pid, s) => pid -> Map(pid -> s) }
      )
    }

    def looks(times: Int, bound: Boolean = true): Unit = (1 to times).foreach { _ =>
      watch.look(executors(bound))
      clock.advance(5)
    }
  }

  test(
    "a process of others on the executors' CPUs is one warning, and is kept with all of its time"
  ) {
    val world = new World
    world.busy(500)
    world.looks(9)
    val cpu = world.place.cpus.iterator.next()
    assert(
      world.log.of("warn") == Vector(
        "Other programs use CPUs to which this application's executors are bound: process 500 (p500) of bob used 10.0 s " +
          s"of CPU time on CPUs $cpu within 10.0 s. `hearth status --leases` shows which CPUs are free"
      )
    )
    assert(world.watch.seen.map(use => (use.pid, use.cpuSeconds)) == Vector(500L -> 40.0))
  }

  test("without others, or without a bound executor, nothing is said") {
    val world = new World
    world.busy()
    world.looks(9)
    world.busy(500)
    world.looks(9, bound = false)
    assert(world.log.of("warn").isEmpty && world.watch.seen.isEmpty)
  }

  test("many others are a bounded number of bounded warnings, and the last 50 are kept") {
    val world = new World
    for (round <- 1 to 30) {
      world.busy((1 to 20).map(n => 1000L * round + n): _*)
      world.looks(4)
    }
    val warnings = world.log.of("warn")
    assert(warnings.size == 10 && warnings.forall(_.length < 500))
    assert(warnings.head.contains("so did 17 more"))
    assert(warnings.last.endsWith("Later ones are in the placement report only"))
    assert(world.watch.seen.size == 50)
  }

  test("a look that takes long comes seldom: a thousandth of one CPU at most") {
    val world = new World
    var taken = 0
    world.busy()
    val shown = world.kernel.shown
    world.kernel.shown = nanos => {
      taken += 1
      world.clock.advance(0.1)
      shown(nanos)
    }
    world.looks(100)
    assert(taken >= 4 && taken <= 6)
  }
}
