package io.hearth.workers

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.RunningExecutor
import io.hearth.driver.testing.{Heard, Places}

/** Real processes in the Workers' stead: what is kept running, and when nothing is. */
class WorkersSuite extends AnyFunSuite {

  private class World(places: Int, command: String = "exec sleep 600") {
    val started = new LinkedBlockingQueue[RunningExecutor]
    val states = new LinkedBlockingQueue[Vector[PlaceState]]
    var refuses: Option[Int] = None
    @volatile var faults = 0
    val log = new Heard
    val workers = new Workers(
      Places.of(places),
      start,
      state => states.put(state),
      log,
      () => System.nanoTime / 1000000
    )

    private def start(place: ExecutorPlan): RunningExecutor = {
      if (refuses.contains(place.id)) throw new UserError("the kernel refuses")
      if (faults > 0) {
        faults -= 1
        throw new OutOfMemoryError("unable to create native thread")
      }
      val process = new ProcessBuilder("sh", "-c", command).start()
      val running = RunningExecutor(s"worker-${place.id}", place, process, 1, Some(place.binding))
      started.put(running)
      running
    }

    def next(): RunningExecutor =
      Option(started.poll(20, SECONDS)).getOrElse(fail("none was started"))

    def kept(): Thread = {
      workers.begin()
      val thread = new Thread(() => workers.keep())
      thread.start()
      thread
    }

    def end(kept: Thread): Unit = {
      workers.stop(5)
      kept.join(20000)
      assert(!kept.isAlive)
    }
  }

  test("a worker that ends is started again in its place, and the others stay") {
    val world = new World(2)
    val kept = world.kept()
    val (first, second) = (world.next(), world.next())
    first.process.destroyForcibly()
    val third = world.next()
    assert(third.place == first.place && second.process.isAlive)
    world.end(kept)
    assert(!third.process.isAlive && !second.process.isAlive)
    val restarts = world.states.stream.toList.get(world.states.size - 1).map(_.restarts)
    assert(restarts == Vector(1, 0))
  }

  test("an Error at a start again is told, and it is tried again after a pause") {
    val world = new World(1)
    val kept = world.kept()
    val first = world.next()
    world.faults = 1
    first.process.destroyForcibly()
    assert(world.next().place == first.place)
    assert(world.log.of("error").exists(_.contains("OutOfMemoryError: unable to create native")))
    world.end(kept)
  }

  test("where the first start of one is refused none is left") {
    val world = new World(3)
    world.refuses = Some(2)
    assert(intercept[UserError](world.workers.begin()).getMessage == "the kernel refuses")
    assert(Vector(world.next(), world.next()).forall(_.process.waitFor(60, SECONDS)))
  }

  test("a stop ends what does not heed SIGTERM, with what that has started") {
    val world = new World(1, "trap '' TERM; sleep 600 & echo; wait")
    val kept = world.kept()
    val worker = world.next()
    assert(worker.process.getInputStream.read() == '\n')
    val children = worker.process.toHandle.descendants.toArray(new Array[ProcessHandle](_))
    assert(children.nonEmpty)
    world.workers.stop(1)
    kept.join(20000)
    assert(!worker.process.isAlive)
    children.foreach(child => child.onExit.get(20, SECONDS))
  }
}
