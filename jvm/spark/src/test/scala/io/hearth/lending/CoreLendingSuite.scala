package io.hearth.lending

import java.time.Instant

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.launch.{JvmStarter, LaunchSpec}
import io.hearth.core.topology.IdSet
import io.hearth.driver.{Activity, RunningExecutor}
import io.hearth.driver.testing.{FakeProcess, HandDriven, Heard, Places}

/** Loans of CPUs by the kernel's and the clock's hand of a test: executors have three threads each. */
class CoreLendingSuite extends AnyFunSuite {

  private class World(number: Int = 2) {
    val clock = new HandDriven
    val log = new Heard
    val places = Places.of(number)
    var executors: Vector[RunningExecutor] = Vector.empty
    var threads: Map[Long, Map[Int, IdSet]] = Map.empty
    var refuses: Set[Long] = Set.empty
    var changes = 0

    /** Threads of these processes wait for a CPU all the time. */
    var waiting: Set[Long] = Set.empty
    var tasks: Map[String, Int] = Map.empty
    var pending = false
    var records: Vector[HandOverRecord] = Vector.empty

    private object Masks extends ThreadMaskWriter {
      override def masks(executor: RunningExecutor): Map[Int, IdSet] =
        threads.getOrElse(executor.process.pid, Map.empty)
      override def waited(executors: Vector[RunningExecutor]): Map[String, Long] =
        executors.map(m => m.id -> (if (waiting(m.process.pid)) clock.nanoTime else 0L)).toMap
      override def settle(executor: RunningExecutor, masks: MaskChange): Unit = {
        change(executor, masks)
        ()
      }
      override def change(executor: RunningExecutor, masks: MaskChange): Option[String] = {
        changes += 1
        val pid = executor.process.pid
        if (refuses(pid)) Some("no")
        else {
          threads = threads.updatedWith(pid)(_.map(_.map { case (t, m) => t -> masks(t, m) }))
          None
        }
      }
    }

    private val loans = new OpenGrants(
      "app-1",
      () => executors,
      Masks,
      records :+= _,
      () => clock.nanoTime,
      () => Instant.EPOCH.plusNanos(clock.nanoTime),
      log
    )
    val lending = new CoreLending(
      places,
      () => executors,
      Masks,
      loans,
      clock,
      () => clock.nanoTime,
      log
    )

    def starts(id: Int, place: Int, bound: Boolean = true): Unit = {
      val process = new FakeProcess(100L + id)
      executors :+= RunningExecutor(
        s"$id",
        places(place),
        process,
        process.pid,
        Option.when(bound)(places(place).binding)
      )
      threads += process.pid -> (0 to 2).map(n => id * 10 + n -> places(place).cpus).toMap
    }

    def dies(id: Int): Unit = {
      executors = executors.filter(_.id != s"$id")
      threads -= 100L + id
      tasks -= s"$id"
    }

    def begin(): Unit = {
      lending.start(() => Activity(pending, tasks))
      clock.advance(0.3)
    }

    def masks(id: Int): Set[IdSet] = threads(100L + id).values.toSet

    /** Executors 0 and 1 on one node; 0 has a task, whose threads wait. */
    def tail(): World = {
      starts(0, place = 0)
      starts(1, place = 1)
      waiting += 100
      tasks = Map("0" -> 1, "1" -> 0)
      begin()
      this
    }
  }

  private val wide = IdSet(0, 1, 2, 3)

  test("a tail's executor may use idle CPUs: in its masks, the log, the record, the placement") {
    val world = new World().tail()
    assert(world.masks(0) == Set(wide) && world.masks(1) == Set(IdSet(2, 3)))
    assert(world.log.of("info").last.startsWith("Executor 0 may use CPUs 2-3 too, as place 1 has"))
    val loan = world.records.last.loans.last
    assert(loan.executorId == "0" && loan.cpus == IdSet(2, 3) && loan.lenders == Vector(1))
    assert(loan.until.isEmpty)
    assert(world.lending.lentTo("0", world.clock.nanoTime) == IdSet(2, 3))
    assert(world.lending.lentTo("1", 0) == IdSet.empty)
  }

  test("tasks that come get their CPUs back at once, and a reading that went on meanwhile knows") {
    val world = new World().tail()
    world.clock.advance(2)
    val start = world.clock.nanoTime
    world.pending = true
    world.lending.wake()
    world.clock.run()
    assert(world.masks(0) == Set(IdSet(0, 1)))
    assert(world.records.last.loans.map(_.until.nonEmpty) == Vector(true))
    assert(world.records.last.number == 1 && world.records.last.cpuSeconds >= 4)
    assert(world.log.of("info").last.startsWith("CPUs 2-3 are back from executor 0 after 2"))
    assert(world.lending.lentTo("0", start) == IdSet(2, 3))
    assert(world.lending.lentTo("0", world.clock.nanoTime + 1) == IdSet.empty)
  }

  test("a thread that was being made while CPUs were taken back loses them a moment later") {
    val world = new World().tail()
    world.pending = true
    world.clock.advance(0.1)
    world.threads += 100L -> (world.threads(100) + (9 -> wide))
    world.clock.advance(0.2)
    assert(world.masks(0) == Set(IdSet(0, 1)))
    val changes = world.changes
    world.clock.advance(60)
    assert(world.changes - changes < 12, "and nobody looks for such threads any longer")
  }

  test("threads that the application had bound elsewhere are where they were, during and after") {
    val world = new World
    world.starts(0, place = 0)
    world.threads += 100L -> Map(1 -> IdSet(0, 1), 2 -> IdSet(1), 3 -> IdSet(3), 4 -> IdSet(7))
    val before = world.threads(100)
    world.starts(1, place = 1)
    world.waiting += 100
    world.tasks = Map("0" -> 1, "1" -> 0)
    world.begin()
    assert(world.threads(100) == before.updated(1, wide))
    world.lending.close()
    assert(world.threads(100) == before)
  }

  test("an executor that is lost during a loan ends it, as a lender and as a borrower") {
    val world = new World().tail()
    world.dies(1)
    world.clock.advance(0.1)
    assert(world.masks(0) == Set(IdSet(0, 1)))
    world.starts(2, place = 1)
    world.clock.advance(1)
    assert(world.masks(0) == Set(IdSet(0, 1)), "a replacement that is starting needs its CPUs")
    world.tasks += "2" -> 0
    world.clock.advance(0.5)
    assert(world.masks(0) == Set(wide))
    world.dies(0)
    world.clock.advance(0.1)
    assert(world.records.last.loans.forall(_.until.nonEmpty))
    assert(world.log.of("info").last.contains("from executor 0, which has ended, after"))
    assert(world.log.of("warn").isEmpty && world.log.of("fault").isEmpty)
  }

  test("an executor that the kernel lets have no other CPUs is asked once, with one warning") {
    val world = new World
    world.refuses = Set(100)
    world.starts(0, place = 0)
    world.starts(1, place = 1)
    world.waiting += 100
    world.tasks = Map("0" -> 1, "1" -> 0)
    world.begin()
    world.clock.advance(30)
    assert(world.log.of("warn") == Vector("The CPUs of executor 0 could not be changed: no"))
    assert(world.records.last.loans.forall(_.until.nonEmpty))
    assert(world.lending.lentTo("0", world.clock.nanoTime) == IdSet.empty)
  }

  test("CPUs that the kernel did not let be taken back once are taken back as soon as it does") {
    val world = new World().tail()
    world.refuses = Set(100)
    world.pending = true
    world.clock.advance(5)
    assert(world.masks(0) == Set(wide), "the lender's CPUs, too")
    assert(world.log.of("warn") == Vector("The CPUs of executor 0 could not be changed: no"))
    world.refuses = Set.empty
    world.clock.advance(2.1)
    assert(world.masks(0) == Set(IdSet(0, 1)))
    assert(world.log.of("info").last == "The CPUs of executor 0 could now be changed")
    val changes = world.changes
    world.clock.advance(60)
    assert(world.changes - changes < 12, "and nobody looks any longer")
  }

  test("executors that are not bound neither lend nor borrow") {
    val world = new World(4)
    world.starts(0, place = 0, bound = false)
    world.starts(1, place = 1)
    world.starts(2, place = 2)
    world.starts(3, place = 3, bound = false)
    world.waiting ++= Set(100L, 101L)
    world.tasks = Map("0" -> 1, "1" -> 1, "2" -> 1, "3" -> 0)
    world.begin()
    world.clock.advance(5)
    assert(world.changes == 0)
  }

  test("whoever is killed and whatever runs: at the end each CPU has one owner again") {
    for (seed <- 1 to 100) {
      val random = new Random(seed)
      val world = new World(4)
      (0 to 3).foreach(n => world.starts(n, n))
      world.tasks = (0 to 3).map(n => s"$n" -> 0).toMap
      world.waiting = (100L to 300L).toSet
      world.begin()
      var next = 4
      var loans = 0
      for (_ <- 1 to 60) {
        random.nextInt(12) match {
          case 0 =>
            val victim = world.executors(random.nextInt(world.executors.size))
            world.dies(victim.id.toInt)
            world.starts(next, victim.place.id)
            next += 1
          case 1 => world.pending = !world.pending
          case _ =>
            val some = world.executors(random.nextInt(world.executors.size))
            world.tasks += some.id -> random.nextInt(2)
        }
        if (random.nextBoolean()) world.lending.wake()
        world.clock.advance(random.nextDouble() / 2)
        loans += world.executors.count(m => world.masks(m.id.toInt) != Set(m.place.cpus))
      }
      world.lending.close()
      withClue(s"seed $seed: ") {
        assert(loans > 0)
        for (m <- world.executors) assert(world.masks(m.id.toInt) == Set(m.place.cpus))
        assert(world.records.last.loans.forall(_.until.nonEmpty))
        assert(world.log.of("fault").isEmpty)
      }
    }
  }

  test("whatever the launcher throws when CPUs change is a reason, so that all is taken back") {
    val process = new ProcessBuilder("sleep", "60").start()
    val jvms = new JvmStarter {
      override def start(spec: LaunchSpec, executorId: String): Process = process
      override def allow(executorId: String, cpus: IdSet): Unit =
        throw new OutOfMemoryError("unable to create native thread")
    }
    try {
      val executor =
        RunningExecutor("1", Places.of(1).head, process, 1, Some(Places.of(1).head.binding))
      val change = MaskChange(IdSet(0), IdSet(0), IdSet(0, 1), Map.empty)
      assert(new LiveThreadMasks(jvms).change(executor, change).exists(_.contains("native thread")))
    } finally { val _ = process.destroyForcibly() }
  }
}
