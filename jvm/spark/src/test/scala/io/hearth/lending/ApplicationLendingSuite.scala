package io.hearth.lending

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.leases.{Loan, ActiveLease, Lease, LeaseRegistry, LeaseState, LoanRegistry}
import io.hearth.core.plan.{FreeMemory, HandOverMode}
import io.hearth.core.topology.IdSet
import io.hearth.driver.{Activity, BestEffort, RunningExecutor}
import io.hearth.driver.testing.{FakeProcess, HandDriven, Heard, Places, Temporary}

/**
 * Applications that lend each other CPUs over one directory, each with its own view of it, on one clock: each has
 * places of two CPUs, and its executors a thread.
 */
class ApplicationLendingSuite extends AnyFunSuite {

  private class World(directory: Path) {
    val path: Path = directory
    val clock = new HandDriven
    private def registry = new LeaseRegistry(directory, "boot")
    var all: Vector[Application] = Vector.empty
    var refuses = Set.empty[Long]

    /** Of each node, which no plan has taken. */
    var memory = 1L << 40
    def leased: Long = registry.read().memoryBytes.getOrElse(0, 0L)

    final class Application(val name: String, places: Vector[Int], mode: HandOverMode) {
      val log = new Heard
      val plans = places.map(n => Places.of(n + 1)(n))
      var executors = plans.zipWithIndex.map { case (plan, n) =>
        val process = new FakeProcess(1000L * (all.size + 1) + n)
        RunningExecutor(s"$n", plan, process, process.pid, Some(plan.binding))
      }
      var masks = executors.map(m => m.id -> m.place.cpus).toMap
      var tasks = executors.map(_.id -> 0).toMap
      var pending = 0
      var barrier = false
      var slots = Map.empty[String, Int]
      var revived = 0
      var record: Option[HandOverRecord] = None
      var alive = true
      val cpus: IdSet = IdSet.union(plans.map(_.cpus))
      val lease: ActiveLease = registry.exclusively()(
        _.take(Lease("", LeaseState.Holds, name, name, 1, 1, 1, cpus, Map.empty))
      )

      private object Masks extends ThreadMaskWriter {
        override def masks(executor: RunningExecutor): Map[Int, IdSet] =
          Map(1 -> Application.this.masks(executor.id))
        override def waited(executors: Vector[RunningExecutor]): Map[String, Long] = Map.empty
        override def settle(executor: RunningExecutor, masks: MaskChange): Unit = {
          change(executor, masks); ()
        }
        override def change(executor: RunningExecutor, change: MaskChange): Option[String] =
          if (refuses(executor.process.pid)) Some("no")
          else {
            Application.this.masks =
              Application.this.masks.updatedWith(executor.id)(_.map(change(1, _)))
            None
          }
      }

      private def now() = Instant.EPOCH.plusNanos(clock.nanoTime)
      private val loans = new OpenGrants(
        name,
        () => executors,
        Masks,
        r => record = Some(r),
        () => clock.nanoTime,
        () => now(),
        log
      )
      private val policy = new ApplicationLending(
        name,
        lease.name,
        () => new LoanRegistry(registry),
        () => IdSet.from(0 until 100),
        leases =>
          FreeMemory(
            (0 to 9).map(n => n -> (memory - leases.memoryBytes.getOrElse(n, 0L))).toMap,
            Long.MaxValue
          ),
        Lease("", LeaseState.Shares, name, "memory", 1, 1, 1, IdSet.empty, _),
        whole = mode.within,
        1,
        loans,
        slots = _,
        new BestEffort("not lent", log.warn),
        () => clock.nanoTime,
        () => now(),
        log
      )
      val own = clock.beside
      val lending = new CoreLending(
        plans,
        () => executors,
        Masks,
        loans,
        mode.within,
        Some(policy),
        own,
        () => clock.nanoTime,
        log
      )
      lending.start(() => Activity(pending, barrier, tasks), () => revived += 1)

      def wide: IdSet = IdSet.union(executors.map(m => masks(m.id))) &~ cpus

      def works(running: Int, waiting: Int): Unit = {
        tasks = tasks.map { case (id, _) => id -> running }
        pending = waiting
        lending.wake()
      }

      def dies(id: String): Unit = {
        executors = executors.filter(_.id != id)
        tasks -= id
        masks -= id
      }

      /** As `kill -9` does, of the driver and all executors. */
      def killed(): Unit = {
        alive = false
        own.shutdownNow()
        policy.abandon()
        lease.abandon()
        executors = Vector.empty
        masks = Map.empty
        tasks = Map.empty
      }

      def ends(): Unit = {
        lending.close()
        lease.close()
      }
    }

    def application(name: String, places: Int*)(implicit
        mode: HandOverMode = HandOverMode.Applications
    ): Application = {
      val one = new Application(name, places.toVector, mode)
      all :+= one
      one
    }

    def files: Vector[String] =
      Using.resource(Files.list(directory))(_.iterator.asScala.map(_.getFileName.toString).toVector)
  }

  private def world(test: World => Unit): Unit =
    Temporary.directory(directory => test(new World(directory)))

  /** A lender that pauses on CPUs 2-3 and a borrower with CPUs 0-1 and much to do. */
  private def pair(test: (World, World#Application, World#Application) => Unit): Unit = world {
    world =>
      val borrower = world.application("borrower", 0)
      val lender = world.application("lender", 1)
      borrower.works(2, 9)
      world.clock.advance(2)
      test(world, lender, borrower)
  }

  test("an idle application's CPUs run another's pending tasks: masks, slots, log, record of both") {
    pair { (world, lender, borrower) =>
      assert(borrower.masks("0") == IdSet(0, 1, 2, 3) && lender.masks("0") == IdSet(2, 3))
      assert(borrower.slots == Map("0" -> 2) && borrower.revived == 1)
      val said = borrower.log.of("info").last
      assert(said.startsWith("Executor 0 may use CPUs 2-3 too, which application lender of "))
      val loan = borrower.record.get.loans.last
      assert(loan.from.map(_.appId).contains("lender") && loan.cpus == IdSet(2, 3))
      assert(borrower.lending.lentTo("0", world.clock.nanoTime) == IdSet(2, 3))
      assert(lender.log.of("info").exists(_.contains("are lent to application borrower of ")))
      val out = lender.record.get.lentOut.last
      assert(out.to.appId == "borrower" && out.cpus == IdSet(2, 3) && out.until.isEmpty)
      assert(lender.lending.away(world.clock.nanoTime) == IdSet(2, 3))
    }
  }

  test(
    "the lender's own task ends the loan within a tick, the mask and the slots go, nothing else"
  ) {
    pair { (world, lender, borrower) =>
      borrower.tasks += "0" -> 4
      lender.works(0, 1)
      world.clock.advance(0.1)
      assert(borrower.masks("0") == IdSet(0, 1) && borrower.slots.isEmpty)
      assert(borrower.tasks("0") == 4, "its tasks go on")
      world.clock.advance(0.6)
      assert(lender.record.get.lentOut.last.until.nonEmpty)
      assert(
        lender.log.of("info").exists(_.startsWith("CPUs 2-3 are back from application borrower"))
      )
      world.clock.advance(3)
      assert(lender.lending.away(world.clock.nanoTime) == IdSet.empty)
    }
  }

  test(
    "further tasks run where there is memory for them, which is leased until the last has ended"
  ) {
    world { world =>
      world.memory = 200L << 20
      val borrower = world.application("borrower", 0)
      val lender = world.application("lender", 1)
      borrower.works(2, 9)
      world.clock.advance(2)
      assert(borrower.slots == Map("0" -> 1) && borrower.wide.size == 1, "a task takes 192 MB")
      assert(world.leased == (192L << 20))
      borrower.tasks += "0" -> 3
      lender.works(0, 1)
      world.clock.advance(1)
      assert(borrower.slots.isEmpty && world.leased == (192L << 20))
      borrower.works(2, 0)
      world.clock.advance(1)
      assert(world.leased == 0 && borrower.log.of("warn").isEmpty)
      lender.works(0, 0)
      world.memory = 191L << 20
      borrower.works(2, 9)
      world.clock.advance(3)
      val warnings = borrower.log.of("warn")
      assert(borrower.wide.isEmpty && warnings.size == 1)
      assert(warnings.head.contains("may take 192 MB of memory node 0 beside the heap"))
    }
  }

  test("whatever others write that they have borrowed, of a lender's CPUs each is lent once") {
    world { world =>
      val lender = world.application("lender", 1)
      val stranger = world.application("stranger", 5)
      stranger.works(1, 0)
      world.clock.advance(2)
      val offer = world.files.find(_.startsWith("hearth-offer-")).get
      for (n <- 1 to 3) {
        val cpus = IdSet.from(0 to 5000)
        val forged =
          Loan("boot", "stranger", s"$n", stranger.lease.name, offer, cpus, 1).toJson
        Files.writeString(world.path.resolve(s"hearth-loan-$n.json"), forged.toString)
      }
      world.clock.advance(2)
      assert(lender.record.get.lentOut.map(_.cpus) == Vector(IdSet(2, 3)))
      assert(lender.log.of("info").count(_.contains(" are lent to ")) == 1)
    }
  }

  test("whichever of the two is killed, the CPUs are their owner's") {
    pair { (world, lender, borrower) =>
      lender.killed()
      world.clock.advance(0.1)
      assert(borrower.masks("0") == IdSet(0, 1) && borrower.slots.isEmpty)
    }
    pair { (world, lender, borrower) =>
      borrower.killed()
      val next = world.application("next", 2)
      next.works(2, 9)
      world.clock.advance(1)
      assert(next.masks("0") == IdSet(2, 3, 4, 5), "and another may borrow them")
      assert(lender.record.get.lentOut.map(_.until.nonEmpty) == Vector(true, false))
    }
  }

  test("an executor that is lost gives back what it had borrowed") {
    pair { (world, lender, borrower) =>
      borrower.dies("0")
      world.clock.advance(0.1)
      assert(borrower.record.get.loans.forall(_.until.nonEmpty) && borrower.slots.isEmpty)
      world.clock.advance(0.6)
      assert(lender.record.get.lentOut.last.until.nonEmpty)
    }
  }

  test(
    "an executor that the kernel lets have no other CPUs gives them back, and is not tried again"
  ) {
    world { world =>
      world.refuses += 1000
      val borrower = world.application("borrower", 0)
      world.application("lender", 1)
      borrower.works(2, 9)
      world.clock.advance(9)
      assert(borrower.log.of("warn").sizeIs == 1 && borrower.slots.isEmpty)
      assert(!world.files.exists(_.startsWith("hearth-loan-")))
    }
  }

  test("with mode all, CPUs are others' only while no executor of the application works") {
    world { world =>
      val lender = world.application("lender", 1, 2)(HandOverMode.All)
      lender.tasks += "0" -> 1
      val borrower = world.application("borrower", 0)
      borrower.works(2, 9)
      world.clock.advance(5)
      assert(borrower.wide.isEmpty)
      lender.tasks += "0" -> 0
      world.clock.advance(0.5)
      assert(borrower.wide == IdSet(4, 5), "of the place that has been idle all the time")
      borrower.works(4, 7)
      world.clock.advance(2)
      assert(borrower.wide == IdSet(2, 3, 4, 5))
    }
  }

  test("applications that end leave no file, and take back and give back all") {
    pair { (world, lender, borrower) =>
      lender.ends()
      borrower.ends()
      assert(world.files.isEmpty)
      assert(borrower.masks("0") == IdSet(0, 1) && borrower.log.of("warn").isEmpty)
    }
  }

  test("many applications, whoever is killed: no CPU is lent to two, nor while its owner works") {
    for (seed <- 1 to 5) world { world =>
      val random = new Random(seed)
      val modes = Vector(HandOverMode.Applications, HandOverMode.All)
      (0 until 5).foreach(n =>
        world.application(s"a$n", 2 * n, 2 * n + 1)(modes(random.nextInt(2)))
      )
      var lent = 0
      for (step <- 1 to 25) {
        val living = world.all.filter(_.alive)
        val one = living(random.nextInt(living.size))
        random.nextInt(20) match {
          case 0 if living.sizeIs > 2 => one.killed()
          case 1 if one.executors.sizeIs > 1 => one.dies(one.executors.head.id)
          case n if n < 10 => one.works(0, 0)
          case _ => one.works(2, random.nextInt(9))
        }
        world.clock.advance(if (random.nextBoolean()) 0.2 else 3 * random.nextDouble())
        world.clock.advance(0.2)
        withClue(s"seed $seed, step $step: ") {
          val users = for {
            app <- world.all.filter(_.alive)
            m <- app.executors
            cpu <- (app.masks(m.id) &~ app.cpus).iterator
          } yield cpu -> app
          lent += users.size
          assert(users.map(_._1).distinct.size == users.size, users.map(u => u._1 -> u._2.name))
          for ((cpu, borrower) <- users) {
            val owner = world.all.find(_.cpus.contains(cpu)).get
            assert(owner.alive && !(owner eq borrower) && owner.pending == 0, s"CPU $cpu")
            val at = owner.executors.find(_.place.cpus.contains(cpu))
            assert(at.forall(m => owner.tasks(m.id) == 0), s"CPU $cpu")
            val within = owner.executors.filter(m => owner.masks(m.id).contains(cpu))
            assert(within.forall(_.place.cpus.contains(cpu)), s"CPU $cpu")
          }
        }
      }
      assert(lent > 0, s"seed $seed")
      world.all.filter(_.alive).foreach(_.ends())
      for (app <- world.all if app.alive; m <- app.executors)
        assert(app.masks(m.id) == m.place.cpus)
      assert(world.all.forall(a => a.log.of("fault").isEmpty && a.log.of("warn").isEmpty))
    }
  }
}
