package io.hearth.driver

import java.util.concurrent.{CompletableFuture, ExecutionException}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.testing.{FakeProcess, HandDriven, Heard, Places}

/** Executors are started, lost, replaced and ended: no process and no waiting, the test drives both. */
class ExecutorPoolSuite extends AnyFunSuite {

  /** A pool of places, and what happens around it. */
  private class World(places: Int) extends PoolListener {
    val thread = new HandDriven
    var processes: Map[String, FakeProcess] = Map.empty
    var heard: Vector[String] = Vector.empty
    var make: Int => FakeProcess = pid => new FakeProcess(pid)
    var unheard = false
    var whenStarting: String => Unit = _ => ()
    val log = new Heard
    val pool =
      new ExecutorPool(Places.of(places), start, thread, () => thread.nanoTime / 1000000, log)

    private def start(id: String, place: ExecutorPlan): RunningExecutor = {
      whenStarting(id)
      val process = make(1000 + id.toInt)
      processes += id -> process
      RunningExecutor(id, place, process, startTicks = 1, Some(place.binding))
    }

    def begin(executors: Int): CompletableFuture[Unit] = {
      val started = pool.start(executors, this)
      thread.run()
      started
    }

    def exits(id: String, code: Int): Unit = {
      processes(id).exit(code)
      thread.run()
    }

    def target(executors: Int): Unit = {
      pool.setTarget(executors)
      thread.run()
    }

    /** Executor ids by place. */
    def held: Map[Int, String] = pool.running.map(m => m.place.id -> m.id).toMap

    override def exited(executor: RunningExecutor, code: Int, asked: Boolean): Unit =
      if (unheard) throw new IllegalStateException("Spark has stopped")
      else heard :+= s"${executor.id} exit $code${if (asked) " asked" else ""}"
    override def notStarted(place: ExecutorPlan, cause: Throwable, againInSeconds: Long): Unit =
      heard :+= s"place ${place.id} not started: ${cause.getMessage}, again in $againInSeconds s"
  }

  test(
    "an executor that has just been lost still counts as expected, one that is not wanted does not"
  ) {
    val world = new World(3)
    assert(world.pool.expected.isEmpty)
    world.begin(2)
    assert(world.pool.expected.map(_.host).toSet == Set("a", "b"))
    var between = Vector.empty[Int]
    world.whenStarting = _ => between = world.pool.expected.map(_.id)
    world.exits("0", 137)
    assert(world.held.values.toSet == Set("1", "2") && between.toSet == world.held.keySet)
    world.target(1)
    assert(world.pool.expected.size == 2, "Spark ends those that are too many")
    world.pool.stop(graceSeconds = 1)
    world.exits("1", 0)
    assert(world.pool.expected.map(_.id) == world.held.keys.toVector && world.held.size == 1)
  }

  test("as many executors are started as are wanted, and none before the application begins") {
    val world = new World(4)
    world.target(4)
    assert(world.held.isEmpty)
    assert(world.begin(2).isDone)
    assert(world.held == Map(0 -> "0", 2 -> "1"), "one on each host")
  }

  test("a lost executor's successor has its place and another id") {
    val world = new World(3)
    world.begin(3)
    assert(world.held == Map(0 -> "0", 2 -> "1", 1 -> "2"))
    world.exits("1", 137)
    assert(world.heard == Vector("1 exit 137"))
    assert(world.held == Map(0 -> "0", 2 -> "3", 1 -> "2"))
    assert(world.pool.hasEnded("1") && !world.pool.hasEnded("3"))
  }

  test("a pool whose owner cannot be told of an exit is stopped as soon as all have ended") {
    val world = new World(2)
    world.begin(2)
    val stopped = world.pool.stop(graceSeconds = 10)
    world.thread.run()
    world.unheard = true
    world.exits("0", 0)
    assert(!stopped.isDone)
    world.exits("1", 0)
    assert(stopped.isDone, "it does not wait for the end of the grace")
    assert(
      world.log.of("fault") ==
        Vector("The loss or end of executors could not be handled: Spark has stopped")
    )
  }

  test("a lower target ends no executor by itself, and fills no place of one that ends") {
    val world = new World(3)
    world.begin(3)
    world.target(1)
    assert(world.processes.values.forall(_.signals.isEmpty))
    world.exits("0", 0)
    world.exits("1", 0)
    assert(world.held.values.toSet == Set("2"))
    world.exits("2", 1)
    assert(world.held == Map(0 -> "3"))
  }

  test("a higher target fills free places, as many as there are") {
    val world = new World(3)
    world.begin(0)
    assert(world.held.isEmpty)
    world.target(2)
    assert(world.held.size == 2)
    world.target(9)
    assert(world.held.keySet == Set(0, 1, 2))
  }

  test("executors that Spark ends get SIGTERM, those that stay SIGKILL when the grace is over") {
    val world = new World(2)
    world.make = pid => new FakeProcess(pid, heedsTerm = pid == 1000)
    world.begin(2)
    world.target(0)
    world.pool.end(Seq("0", "1", "77"), graceSeconds = 10)
    world.thread.run()
    assert(world.heard == Vector("0 exit 143 asked"))
    world.thread.advance(9.9)
    assert(world.processes("1").signals == Vector("TERM"))
    world.thread.advance(0.2)
    assert(world.processes("1").signals == Vector("TERM", "KILL"))
    assert(world.heard.last == "1 exit 137 asked" && world.held.isEmpty)
  }

  test("a decommissioned executor's end is no loss, and its place is filled again") {
    val world = new World(2)
    world.begin(2)
    world.pool.expectExit(Seq("0"))
    world.exits("0", 0)
    assert(world.heard == Vector("0 exit 0 asked"))
    assert(world.held(0) == "2")
    world.exits("2", 1)
    assert(world.heard.last == "2 exit 1", "what was expected of one is not of its successor")
  }

  test("a first executor that cannot be started is the reason why the application does not begin") {
    val world = new World(3)
    world.whenStarting = id => if (id == "1") throw new IllegalStateException("refused")
    val failure = intercept[ExecutionException](world.begin(3).get())
    assert(failure.getCause.getMessage == "refused")
    assert(world.processes.keySet == Set("0"), "none is started after it")
    assert(world.heard.isEmpty)
  }

  test(
    "whatever kind of error it is that an executor cannot be started for, whoever waits is told"
  ) {
    for (error <- Seq(new UnsatisfiedLinkError("noexec"), new OutOfMemoryError("no thread"))) {
      val world = new World(2)
      world.whenStarting = _ => throw error
      assert(intercept[ExecutionException](world.begin(2).get()).getCause == error)
      val second = new World(2)
      second.begin(2)
      second.whenStarting = _ => throw error
      second.exits("1", 1)
      assert(second.heard.last == s"place 1 not started: ${error.getMessage}, again in 1 s")
    }
  }

  test(
    "a successor that cannot be started is told of with its place, and tried again after a pause"
  ) {
    val world = new World(2)
    world.begin(2)
    world.whenStarting = _ => throw new IllegalStateException("refused")
    world.exits("1", 1)
    assert(world.heard == Vector("1 exit 1", "place 1 not started: refused, again in 1 s"))
    world.target(2)
    assert(world.heard.size == 2, "a pause is not cut short")
    world.thread.advance(1)
    assert(world.heard.last == "place 1 not started: refused, again in 2 s")
    world.whenStarting = _ => ()
    world.thread.advance(1.9)
    assert(world.held.keySet == Set(0) && world.pool.expected.map(_.id).toSet == Set(0, 1))
    world.thread.advance(0.2)
    assert(world.held.keySet == Set(0, 1))
  }

  test("while a place rests, another free one is filled in its stead") {
    val world = new World(3)
    world.begin(2)
    world.whenStarting = id => if (id == "2") throw new IllegalStateException("refused")
    world.exits("1", 1)
    assert(world.heard.last.startsWith("place 2 not started"))
    assert(world.held == Map(0 -> "0", 1 -> "3"))
    world.thread.advance(60)
    assert(world.held == Map(0 -> "0", 1 -> "3"), "no more than are wanted")
  }

  test(
    "a place whose executors end soon again and again rests before the next, not where one was asked to end"
  ) {
    val world = new World(1)
    world.begin(1)
    def current = world.held(0)
    for (_ <- 1 to 10) world.exits(current, 1)
    assert(current == "10", "the first ones come at once")
    world.exits(current, 1)
    assert(world.held.isEmpty)
    world.thread.advance(1)
    assert(current == "11")
    world.thread.advance(60)
    world.exits(current, 1)
    assert(current == "12", "it had run for a while")
    for (_ <- 1 to 12) {
      world.pool.expectExit(Seq(current))
      world.exits(current, 0)
    }
    assert(current == "24")
  }

  test("a stop ends the rest of a place, and no executor is started when that is over") {
    val world = new World(1)
    world.begin(1)
    world.whenStarting = _ => throw new IllegalStateException("refused")
    world.exits("0", 1)
    val stopped = world.pool.stop(graceSeconds = 10)
    world.thread.run()
    world.whenStarting = _ => ()
    world.thread.advance(60)
    assert(stopped.isDone && world.held.isEmpty && world.heard.size == 2)
  }

  test("an executor of whose end nobody would hear is ended, and its place is tried again") {
    val world = new World(1)
    world.begin(1)
    world.make = pid =>
      new FakeProcess(pid) {
        override def onExit(): CompletableFuture[Process] = throw new OutOfMemoryError("no thread")
      }
    world.exits("0", 1)
    assert(world.heard.last == "place 0 not started: no thread, again in 1 s")
    assert(world.held.isEmpty && world.processes("1").signals == Vector("KILL"))
    world.make = pid => new FakeProcess(pid)
    world.thread.advance(1)
    assert(world.held == Map(0 -> "2"))
  }

  test("a stop while executors are being started is in force before the next of them") {
    val world = new World(4)
    world.whenStarting = id => if (id == "1") { world.pool.stop(10); () }
    val started = world.begin(4)
    assert(world.processes.keySet == Set("0", "1"))
    val failure = intercept[ExecutionException](started.get())
    assert(failure.getCause.getMessage.contains("stopped while its executors were being started"))
  }

  test("after a stop nothing can be started any more, and whoever tries gets an error") {
    val world = new World(2)
    assert(world.pool.stop(10) != null)
    world.thread.run()
    assert(world.pool.stop(10).isDone)
    assert(world.begin(2).isCompletedExceptionally)
    assert(world.processes.isEmpty)
  }

  test("executors that end by themselves get no signal, and the stop is over with the last") {
    val world = new World(2)
    world.begin(2)
    val stopped = world.pool.stop(graceSeconds = 10)
    world.thread.advance(3)
    world.exits("0", 0)
    assert(!stopped.isDone)
    world.exits("1", 0)
    assert(stopped.isDone && world.thread.isShutdown)
    world.thread.advance(60)
    assert(world.processes.values.forall(_.signals.isEmpty))
    assert(world.heard == Vector("0 exit 0 asked", "1 exit 0 asked"))
    assert(world.held.isEmpty, "no place is filled again")
  }

  test(
    "a stop sends SIGTERM after the grace, SIGKILL two seconds later, and waits no longer then"
  ) {
    val world = new World(1)
    world.make = pid => new FakeProcess(pid, heedsTerm = false, heedsKill = false)
    world.begin(1)
    val stopped = world.pool.stop(graceSeconds = 10)
    val signals = world.processes("0")
    world.thread.advance(9.9)
    assert(signals.signals.isEmpty)
    world.thread.advance(0.2)
    assert(signals.signals == Vector("TERM"))
    world.thread.advance(2)
    assert(signals.signals == Vector("TERM", "KILL") && !stopped.isDone)
    world.thread.advance(5)
    assert(stopped.isDone)
  }

  test("an application that is given up has no successors for those it loses then") {
    val world = new World(2)
    world.begin(2)
    world.pool.startNoMore()
    world.exits("0", 1)
    world.target(2)
    assert(world.held.keySet == Set(1))
  }
}
