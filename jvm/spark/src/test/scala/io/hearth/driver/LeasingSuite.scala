package io.hearth.driver

import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.leases.{Lease, LeaseRegistry, LeaseState}
import io.hearth.core.plan.{Coexistence, Fitting, Limits, WhenFull, Workload}
import io.hearth.core.topology.{IdSet, MachineSpec, Neighbours}
import io.hearth.driver.testing.{Heard, Temporary}

/** What an application does that finds CPUs leased, over a registry in a directory. */
class LeasingSuite extends AnyFunSuite {
  private val machine = MachineSpec.parse("1 node of 64 GB, 4 cores")
  private val limits = Limits.none.copy(executors = Some(1), cores = Some(3))

  private val fitting = new Fitting(machine, Workload.unknown, limits, Neighbours.none, None)

  /** A registry that is empty in the end. */
  private def withRegistry(test: OwnRegistry => Any): Unit = Temporary.directory { directory =>
    test(new OwnRegistry(directory))
    assert(directory.toFile.list.isEmpty)
  }

  private class OwnRegistry(val directory: Path) {
    val log = new Heard
    val registry = new LeaseRegistry(directory, "boot", limitMs = 200)
    var now = 0L

    def warnings: Vector[String] = log.of("warn")

    def taking(
        app: String,
        whenFull: WhenFull,
        meanwhile: () => Unit = () => fail("it waited"),
        from: () => LeaseRegistry = () => registry
    ): Leasing = new Leasing(
      from,
      whenFull,
      Lease("boot", LeaseState.Holds, app, "n", 1, 1, 1, IdSet.empty, Map.empty),
      new BestEffort("No lease", log.warn),
      log,
      () => now,
      _ => meanwhile()
    )
    def live: Vector[Lease] = registry.read().live.map(_.lease)
  }

  test("who finds nothing free shares by default: unbound, with a lease of its memory alone") {
    withRegistry { own =>
      val first = own.taking("first", WhenFull.Share).take(fitting)
      assert(!first.unbound && own.live.map(_.cpus.size) == Vector(3))
      val second = own.taking("second", WhenFull.Share).take(fitting)
      assert(second.unbound && second.lease.nonEmpty)
      val shares = own.live.find(_.appId == "second").get
      assert(
        shares.state == LeaseState.Shares && shares.cpus.isEmpty && shares.memoryBytes.nonEmpty
      )
      val refused = intercept[UserError](own.taking("third", WhenFull.Refuse).take(fitting))
      assert(refused.getMessage.contains("held by first of "))
      assert(refused.getMessage.contains("(process 1) on CPUs 0-2"))
      first.lease.foreach(_.close())
      second.lease.foreach(_.close())
      assert(own.live.isEmpty)
    }
  }

  test("who waits says for whom, starts when that one ends, and leaves no ticket") {
    withRegistry { own =>
      val first = own.taking("first", WhenFull.Share).take(fitting)
      var rounds = 0
      val waited = own.taking(
        "second",
        WhenFull.Wait,
        () => {
          rounds += 1
          assert(own.live.map(l => (l.appId, l.state.name)).contains(("second", "waits")))
          if (rounds == 2) first.lease.foreach(_.close())
        }
      )
      val second = waited.take(fitting)
      assert(rounds == 2 && !second.unbound)
      assert(own.live.map(l => (l.appId, l.state.name)) == Vector(("second", "holds")))
      assert(
        own.warnings.head.startsWith(
          "Waiting for a lease: what this application needs is held by first"
        )
      )
      second.lease.foreach(_.close())
    }
  }

  test(
    "of several that wait the first is served first, though what a later one needs was free before"
  ) {
    withRegistry { own =>
      val first = own.taking("first", WhenFull.Share).take(fitting)
      val order = mutable.Buffer.empty[String]
      var begun = false
      val late = own.taking(
        "late",
        WhenFull.Wait,
        () => {
          // The first is gone since the early one last looked: it still has its turn before this one.
          assert(own.live.exists(l => l.appId == "early" && l.state == LeaseState.Waits))
          throw new InterruptedException("late would wait")
        }
      )
      val early = own.taking(
        "early",
        WhenFull.Wait,
        () =>
          if (!begun) {
            begun = true
            first.lease.foreach(_.close())
            intercept[InterruptedException](late.take(fitting))
            order += "late waited"
            ()
          }
      )
      val got = early.take(fitting)
      order += "early"
      assert(order == Seq("late waited", "early") && own.live.map(_.appId) == Vector("early"))
      assert(!got.unbound)
      got.lease.foreach(_.close())
    }
  }

  test("who comes while others wait does not take what they wait for, but shares or is refused") {
    withRegistry { own =>
      val first = own.taking("first", WhenFull.Share).take(fitting)
      val waits = own.taking(
        "early",
        WhenFull.Wait,
        () => {
          first.lease.foreach(_.close()) // all is free again, and it is the turn of the early one
          val late = own.taking("late", WhenFull.Share).take(fitting)
          assert(late.unbound && own.live.find(_.appId == "late").exists(_.cpus.isEmpty))
          late.lease.foreach(_.close())
          val refused = intercept[UserError](own.taking("third", WhenFull.Refuse).take(fitting))
          assert(refused.getMessage.contains("1 ahead of it in the queue, the next being early"))
        }
      )
      val early = waits.take(fitting)
      assert(!early.unbound && own.live.map(_.appId) == Vector("early"))
      early.lease.foreach(_.close())
    }
  }

  test("where somebody keeps the registry locked an application runs unbound, waits or is refused") {
    withRegistry { own =>
      val locking = Vector("flock", own.directory.toString, "sh", "-c", "echo locked; exec cat")
      val locks = new ProcessBuilder(locking: _*).start()
      try {
        assert(locks.inputReader.readLine() == "locked")
        val shares = own.taking("shares", WhenFull.Share).take(fitting)
        assert(shares.unbound && own.live.map(_.state) == Vector(LeaseState.Shares))
        val reason = shares.plan.reasons.find(_.decision == Coexistence.Sharing).get
        assert(reason.because.contains(s"process ${locks.pid} (flock) of "))
        shares.lease.foreach(_.close())
        val refused = intercept[UserError](own.taking("no", WhenFull.Refuse).take(fitting))
        assert(refused.getMessage.contains(s"kept ${own.directory} locked for 0.2 s"))
        val waits = own.taking(
          "waits",
          WhenFull.Wait,
          () => {
            locks.destroyForcibly()
            assert(locks.waitFor(60, java.util.concurrent.TimeUnit.SECONDS))
          }
        )
        val waited = waits.take(fitting)
        assert(!waited.unbound && own.live.map(_.state) == Vector(LeaseState.Holds))
        waited.lease.foreach(_.close())
      } finally locks.destroyForcibly()
    }
  }

  /** What makes the registry fail, each in its way. */
  private val failures = Vector[OwnRegistry => (() => LeaseRegistry, String)](
    _ => (() => throw new IOException("no directory"), "no directory"),
    own => {
      Files.setPosixFilePermissions(own.directory, PosixFilePermissions.fromString("rwxrwxrwx"))
      (() => own.registry, "others could remove leases: 'chmod +t' fixes that")
    },
    // procfs takes no file, not even root's, as a full file system does.
    _ =>
      (
        () => new LeaseRegistry(Path.of("/proc/self/fdinfo"), "boot"),
        "/proc/self/fdinfo/.hearth-lease"
      )
  )

  test("where leases fail, who asked for 'refuse' is refused with what failed and what to do") {
    for (failing <- failures) withRegistry { own =>
      val (registry, why) = failing(own)
      val refused =
        intercept[UserError](own.taking("a", WhenFull.Refuse, from = registry).take(fitting))
      for (part <- Vector("spark.hearth.lease.whenFull: 'refuse'", why, "HEARTH_LEASES", "'share'"))
        assert(refused.getMessage.contains(part))
    }
  }

  test("where leases fail and go on failing, who waits says so and is refused after 10 min") {
    for (failing <- failures) withRegistry { own =>
      val (registry, why) = failing(own)
      val waits = own.taking("a", WhenFull.Wait, () => own.now += 61e9.toLong, registry)
      val refused = intercept[UserError](waits.take(fitting)).getMessage
      assert(refused.contains(why) && refused.contains("for 10 min"))
      assert(own.warnings.sizeIs > 8 && own.warnings.forall(_.contains(why)))
    }
  }

  test("who waits keeps its turn while leases fail for a moment") {
    withRegistry { own =>
      val first = own.taking("first", WhenFull.Share).take(fitting)
      var rounds = 0
      def failsOnce() =
        if (rounds == 1) throw new IOException("No locks available") else own.registry
      val waits = own.taking(
        "second",
        WhenFull.Wait,
        () => {
          rounds += 1
          assert(own.live.find(_.appId == "second").flatMap(_.ticket).contains(1L))
          if (rounds == 2) first.lease.foreach(_.close())
        },
        () => failsOnce()
      )
      val second = waits.take(fitting)
      assert(rounds == 2 && !second.unbound && second.lease.nonEmpty)
      assert(own.warnings.exists(_.contains("No locks available")))
      second.lease.foreach(_.close())
    }
  }

  test("where leases cannot be read, who shares runs unbound without a lease, with one warning") {
    for (failing <- failures.init) withRegistry { own =>
      val (registry, why) = failing(own)
      val got = own.taking("a", WhenFull.Share, from = registry).take(fitting)
      assert(got.lease.isEmpty && got.unbound && got.plan.executors.nonEmpty)
      val reason = got.plan.reasons.find(_.decision == Coexistence.Sharing).get
      assert(reason.because.contains(why))
      assert(own.warnings == Vector(s"No lease: ${own.warnings.head.drop(10)}"))
      assert(own.warnings.head.contains(why))
    }
  }

  test("where a lease cannot be written, who shares is still bound beside those that are there") {
    withRegistry { own =>
      val (registry, _) = failures.last(own)
      val got = own.taking("a", WhenFull.Share, from = registry).take(fitting)
      assert(got.lease.isEmpty && !got.unbound && got.plan.executors.nonEmpty)
      assert(own.warnings.sizeIs == 1 && own.warnings.head.startsWith("No lease: "))
    }
  }
}
