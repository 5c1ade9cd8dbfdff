package io.hearth.driver

import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.placement.PlacementReport
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.{FakeKernel, FakeProcess, HandDriven, Heard, Places}

/** When placement is read and what is said of it: the kernel and the clock are the test's. */
class PlacementWatchSuite extends AnyFunSuite {

  private class World(intervalSeconds: Long = 5) {
    val clock = new HandDriven
    val kernel = new FakeKernel
    val log = new Heard
    var running: Vector[RunningExecutor] = Vector.empty
    var registered: Set[String] = Set.empty
    var reports: Vector[PlacementReport] = Vector.empty
    var lent: Map[String, IdSet] = Map.empty
    val watch = new PlacementWatch(
      "app-1",
      () => running,
      TimeUnit.SECONDS.toNanos(intervalSeconds),
      kernel,
      report => reports :+= report,
      (id, _) => lent.getOrElse(id, IdSet.empty),
      clock,
      () => clock.nanoTime,
      log
    )

    /** An executor in a place, where it should be. */
    def starts(id: String, place: Int, bound: Boolean = true): RunningExecutor = {
      val process = new FakeProcess(100 + id.toLong)
      val at = Places.of(4)(place)
      val executor =
        RunningExecutor(id, at, process, process.pid, Option.when(bound)(at.binding))
      kernel.run(process.pid, executor.place.cpus)
      running :+= executor
      executor
    }

    def begin(ids: String*): Unit = {
      registered = ids.toSet
      watch.start(() => registered)
      clock.advance(1)
    }

    def tables: Int = log.of("info").count(_.startsWith("Placement, from the kernel:"))
    def verdicts: Vector[(String, String)] =
      reports.last.findings.map(f => f.subject.executorId -> f.verdict.text)
  }

  test("executors are read once when they have registered, with one table, and not before") {
    val world = new World
    world.starts("0", place = 0)
    world.starts("1", place = 1)
    world.begin()
    assert(world.reports.isEmpty)
    world.registered = Set("0")
    world.clock.advance(1)
    assert(world.kernel.readings == Vector(Vector("0")))
    world.registered = Set("0", "1")
    world.clock.advance(1)
    assert(world.kernel.readings.drop(1) == Vector(Vector("0", "1")))
    world.clock.advance(2)
    assert(world.kernel.readings.size == 2 && world.tables == 2)
    assert(world.verdicts == Vector("0" -> "as planned", "1" -> "as planned"))
  }

  test("one that registers after its process has ended is not looked for") {
    val world = new World
    world.starts("0", place = 0)
    world.running = Vector.empty
    world.begin("0")
    world.clock.advance(60)
    assert(world.reports.isEmpty && world.kernel.looks == 0)
  }

  test("a successor in the same place is read, its forerunner no more") {
    val world = new World
    world.starts("0", place = 0)
    world.begin("0")
    world.running = Vector.empty
    world.starts("1", place = 0)
    world.registered = Set("1")
    world.clock.advance(1)
    assert(world.kernel.readings == Vector(Vector("0"), Vector("1")))
  }

  test("a thread that leaves its place is a warning within the interval, its return a sentence") {
    val world = new World
    val executor = world.starts("0", place = 0)
    world.begin("0")
    world.kernel.move(executor.process.pid, IdSet(7))
    world.clock.advance(5.5)
    assert(world.log.of("warn").size == 1)
    assert(
      world.log
        .of("warn")
        .head
        .startsWith("Executor 0 has drifted from place 0: it has 1 of 10 threads")
    )
    assert(world.verdicts == Vector("0" -> "drift"))
    world.clock.advance(60)
    assert(world.log.of("warn").size == 1, "what goes on is not logged again at each look")
    world.kernel.run(executor.process.pid, executor.place.cpus)
    world.clock.advance(5.5)
    assert(world.log.of("info").last == "Executor 0 is back in its planned place")
    assert(world.verdicts == Vector("0" -> "as planned"))
    world.clock.advance(300)
    assert(world.log.of("info").count(_.contains("planned place")) == 1)
  }

  test("CPUs on loan are no drift; they are when they have not been given back") {
    val world = new World
    val executor = world.starts("0", place = 0)
    world.begin("0")
    world.lent = Map("0" -> IdSet(2, 3))
    world.kernel.run(executor.process.pid, IdSet(0, 1, 2, 3))
    world.clock.advance(200)
    assert(world.verdicts == Vector("0" -> "as planned") && world.log.of("warn").isEmpty)
    assert(world.reports.last.findings.head.notes.head.startsWith("may use CPUs 2-3, which"))
    world.lent = Map.empty
    world.clock.advance(5.5)
    assert(world.verdicts == Vector("0" -> "drift") && world.log.of("warn").size == 1)
  }

  test("an executor that was not bound cannot drift and is not looked at") {
    val world = new World
    val executor = world.starts("0", place = 0, bound = false)
    world.begin("0")
    world.kernel.move(executor.process.pid, IdSet(7))
    world.clock.advance(60)
    assert(world.kernel.looks == 0 && world.log.of("warn").isEmpty)
    assert(world.verdicts == Vector("0" -> "unbound"))
  }

  test("threads are looked at once in an interval, all is read at every 24th of them") {
    val world = new World(intervalSeconds = 5)
    world.starts("0", place = 0)
    world.begin("0")
    world.clock.advance(119)
    assert(world.kernel.looks == 23 && world.kernel.readings.size == 1)
    world.clock.advance(6)
    assert(world.kernel.readings.size == 2 && world.tables == 1)
  }

  test("reading that takes long comes seldom: a thousandth of one CPU at most") {
    val world = new World(intervalSeconds = 5)
    world.starts("0", place = 0)
    world.kernel.whileReading = () => world.clock.advance(0.5)
    world.begin("0")
    world.clock.advance(495)
    assert(world.kernel.readings.size == 1)
    world.clock.advance(15)
    assert(world.kernel.readings.size == 2)
  }

  test("an interval of 0 reads all at the start and at the end, and never between") {
    val world = new World(intervalSeconds = 0)
    val executor = world.starts("0", place = 0)
    world.begin("0")
    world.kernel.move(executor.process.pid, IdSet(7))
    world.clock.advance(10000)
    assert(world.kernel.readings.size == 1 && world.kernel.looks == 0)
    world.watch.close()
    assert(world.kernel.readings.size == 2 && world.log.of("warn").size == 1)
  }

  test("the end of an application is read too, with a table only where there was none") {
    val short = new World
    short.starts("0", place = 0)
    short.registered = Set("0")
    short.watch.start(() => short.registered)
    short.watch.close()
    assert(short.reports.size == 1 && short.tables == 1)
    val usual = new World
    usual.starts("0", place = 0)
    usual.begin("0")
    usual.watch.close()
    usual.clock.advance(60)
    assert(usual.reports.size == 2 && usual.tables == 1)
  }

  test("an application without executors has no report, whenever it ends") {
    val world = new World
    world.begin()
    world.watch.close()
    assert(world.reports.isEmpty)
  }

  test("a reading that fails is logged, and the next one runs") {
    val world = new World
    world.starts("0", place = 0)
    world.kernel.whileReading = () => throw new IllegalStateException("no /proc")
    world.begin("0")
    assert(
      world.log.of("fault").head == "The placement of executors could not be read: no /proc"
    )
    world.kernel.whileReading = () => ()
    world.clock.advance(1)
    assert(world.verdicts == Vector("0" -> "as planned"))
  }
}
