package io.hearth.driver

import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.leases.{Lease, LeaseRegistry, LeaseState, Leases}
import io.hearth.core.plan.{Coexistence, Fitted, Limits, Others, WhenFull, Workload}
import io.hearth.core.topology.{IdSet, MachineSpec, Neighbours}

/** What an application does that finds CPUs leased, over a registry in a directory. */
class LeasingSuite extends AnyFunSuite {
  private val machine = MachineSpec.parse("1 node of 64 GB, 4 cores")
  private val limits = Limits.none.copy(executors = Some(1), cores = Some(3))

  private def fit(leases: Leases): Fitted = Coexistence
    .fit(machine, Workload.unknown, limits, IdSet.empty, Others(Neighbours.none, leases), None)
    .fold(unfit => fail(unfit.message), identity)

  /** A registry that is empty in the end, and then goes. */
  private def withRegistry(test: OwnRegistry => Any): Unit = {
    val place = new OwnRegistry
    test(place)
    Files.delete(place.directory)
  }

  private class OwnRegistry {
    val directory: Path = Files.createTempDirectory("hearth-leasing")
    val warnings: mutable.Buffer[String] = mutable.Buffer.empty
    val registry = new LeaseRegistry(directory, "boot", limitMs = 200)
    private val log = new Heard(warnings)
    var now = 0L

    def taking(
        app: String,
        whenFull: WhenFull,
        meanwhile: () => Unit = () => fail("it waited"),
        from: () => LeaseRegistry = () => registry
    ): Leasing = new Leasing(
      from,
      whenFull,
      Lease("boot", LeaseState.Holds, app, "n", 1, 1, 1, IdSet.empty, Map.empty),
      new BestEffort("No lease", w => { warnings += w; () }),
      log,
      () => now,
      _ => meanwhile()
    )
    def live: Vector[Lease] = registry.read().live.map(_.lease)
  }

  private class Heard(warnings: mutable.Buffer[String]) extends Log {
    override def info(sentence: String): Unit = ()
    override def warn(sentence: String): Unit = { warnings += sentence; () }
    override def error(sentence: String): Unit = fail(sentence)
    override def fault(sentence: String, cause: Throwable): Unit = fail(sentence)
  }

  test("who finds nothing free shares by default: unbound, with a lease of its memory alone") {
    withRegistry { place =>
      val first = place.taking("first", WhenFull.Share).take(fit)
      assert(!first.unbound && place.live.map(_.cpus.size) == Vector(3))
      val second = place.taking("second", WhenFull.Share).take(fit)
      assert(second.unbound && second.lease.nonEmpty)
      val shares = place.live.find(_.appId == "second").get
      assert(
        shares.state == LeaseState.Shares && shares.cpus.isEmpty && shares.memoryBytes.nonEmpty
      )
      val refused = intercept[UserError](place.taking("third", WhenFull.Refuse).take(fit))
      assert(refused.getMessage.contains("held by first of "))
      assert(refused.getMessage.contains("(process 1) on CPUs 0-2"))
      first.lease.foreach(_.close())
      second.lease.foreach(_.close())
      assert(place.live.isEmpty)
    }
  }

  test("who waits says for whom, starts when that one ends, and leaves no ticket") {
    withRegistry { place =>
      val first = place.taking("first", WhenFull.Share).take(fit)
      var rounds = 0
      val waited = place.taking(
        "second",
        WhenFull.Wait,
        () => {
          rounds += 1
          assert(place.live.map(l => (l.appId, l.state.name)).contains(("second", "waits")))
          if (rounds == 2) first.lease.foreach(_.close())
        }
      )
      val second = waited.take(fit)
      assert(rounds == 2 && !second.unbound)
      assert(place.live.map(l => (l.appId, l.state.name)) == Vector(("second", "holds")))
      assert(
        place.warnings.head.startsWith(
          "Waiting for a lease: what this application needs is held by first"
        )
      )
      second.lease.foreach(_.close())
    }
  }

  test(
    "of several that wait the first is served first, though what a later one needs was free before"
  ) {
    withRegistry { place =>
      val first = place.taking("first", WhenFull.Share).take(fit)
      val order = mutable.Buffer.empty[String]
      var begun = false
      val late = place.taking(
        "late",
        WhenFull.Wait,
        () => {
          // The first is gone since the early one last looked: it still has its turn before this one.
          assert(place.live.exists(l => l.appId == "early" && l.state == LeaseState.Waits))
          throw new InterruptedException("late would wait")
        }
      )
      val early = place.taking(
        "early",
        WhenFull.Wait,
        () =>
          if (!begun) {
            begun = true
            first.lease.foreach(_.close())
            intercept[InterruptedException](late.take(fit))
            order += "late waited"
            ()
          }
      )
      val got = early.take(fit)
      order += "early"
      assert(order == Seq("late waited", "early") && place.live.map(_.appId) == Vector("early"))
      assert(!got.unbound)
      got.lease.foreach(_.close())
    }
  }

  test("who comes while others wait does not take what they wait for, but shares or is refused") {
    withRegistry { place =>
      val first = place.taking("first", WhenFull.Share).take(fit)
      val waits = place.taking(
        "early",
        WhenFull.Wait,
        () => {
          first.lease.foreach(_.close()) // all is free again, and it is the turn of the early one
          val late = place.taking("late", WhenFull.Share).take(fit)
          assert(late.unbound && place.live.find(_.appId == "late").exists(_.cpus.isEmpty))
          late.lease.foreach(_.close())
          val refused = intercept[UserError](place.taking("third", WhenFull.Refuse).take(fit))
          assert(refused.getMessage.contains("1 ahead of it in the queue, the next being early"))
        }
      )
      val early = waits.take(fit)
      assert(!early.unbound && place.live.map(_.appId) == Vector("early"))
      early.lease.foreach(_.close())
    }
  }

  test("where somebody keeps the registry locked an application runs unbound, waits or is refused") {
    withRegistry { place =>
      val locking = Vector("flock", place.directory.toString, "sh", "-c", "echo locked; exec cat")
      val locks = new ProcessBuilder(locking: _*).start()
      try {
        assert(locks.inputReader.readLine() == "locked")
        val shares = place.taking("shares", WhenFull.Share).take(fit)
        assert(shares.unbound && place.live.map(_.state) == Vector(LeaseState.Shares))
        val reason = shares.plan.reasons.find(_.decision == Coexistence.Sharing).get
        assert(reason.because.contains(s"process ${locks.pid} (flock) of "))
        shares.lease.foreach(_.close())
        val refused = intercept[UserError](place.taking("no", WhenFull.Refuse).take(fit))
        assert(refused.getMessage.contains(s"kept ${place.directory} locked for 0.2 s"))
        val waits = place.taking(
          "waits",
          WhenFull.Wait,
          () => {
            locks.destroyForcibly()
            assert(locks.waitFor(60, java.util.concurrent.TimeUnit.SECONDS))
          }
        )
        val waited = waits.take(fit)
        assert(!waited.unbound && place.live.map(_.state) == Vector(LeaseState.Holds))
        waited.lease.foreach(_.close())
      } finally locks.destroyForcibly()
    }
  }

  /** What makes the registry fail, each in its way. */
  private val failures = Vector[OwnRegistry => (() => LeaseRegistry, String)](
    _ => (() => throw new IOException("no directory"), "no directory"),
    place => {
      Files.setPosixFilePermissions(place.directory, PosixFilePermissions.fromString("rwxrwxrwx"))
      (() => place.registry, "others could remove leases: 'chmod +t' fixes that")
    },
    // procfs takes no file, not even root's, as a full file system does.
    _ =>
      (
        () => new LeaseRegistry(Path.of("/proc/self/fdinfo"), "boot"),
        "/proc/self/fdinfo/.hearth-lease"
      )
  )

  test("where leases fail, who asked for 'refuse' is refused with what failed and what to do") {
    for (failing <- failures) withRegistry { place =>
      val (registry, why) = failing(place)
      val refused =
        intercept[UserError](place.taking("a", WhenFull.Refuse, from = registry).take(fit))
      for (part <- Vector("spark.hearth.lease.whenFull: 'refuse'", why, "HEARTH_LEASES", "'share'"))
        assert(refused.getMessage.contains(part))
    }
  }

  test("where leases fail and go on failing, who waits says so and is refused after 10 min") {
    for (failing <- failures) withRegistry { place =>
      val (registry, why) = failing(place)
      val waits = place.taking("a", WhenFull.Wait, () => place.now += 61e9.toLong, registry)
      val refused = intercept[UserError](waits.take(fit)).getMessage
      assert(refused.contains(why) && refused.contains("for 10 min"))
      assert(place.warnings.sizeIs > 8 && place.warnings.forall(_.contains(why)))
    }
  }

  test("who waits keeps its turn while leases fail for a moment") {
    withRegistry { place =>
      val first = place.taking("first", WhenFull.Share).take(fit)
      var rounds = 0
      def failsOnce() =
        if (rounds == 1) throw new IOException("No locks available") else place.registry
      val waits = place.taking(
        "second",
        WhenFull.Wait,
        () => {
          rounds += 1
          assert(place.live.find(_.appId == "second").flatMap(_.ticket).contains(1L))
          if (rounds == 2) first.lease.foreach(_.close())
        },
        () => failsOnce()
      )
      val second = waits.take(fit)
      assert(rounds == 2 && !second.unbound && second.lease.nonEmpty)
      assert(place.warnings.exists(_.contains("No locks available")))
      second.lease.foreach(_.close())
    }
  }

  test("where leases cannot be read, who shares runs unbound without a lease, with one warning") {
    for (failing <- failures.init) withRegistry { place =>
      val (registry, why) = failing(place)
      val got = place.taking("a", WhenFull.Share, from = registry).take(fit)
      assert(got.lease.isEmpty && got.unbound && got.plan.executors.nonEmpty)
      val reason = got.plan.reasons.find(_.decision == Coexistence.Sharing).get
      assert(reason.because.contains(why))
      assert(place.warnings == Seq(s"No lease: ${place.warnings.head.drop(10)}"))
      assert(place.warnings.head.contains(why))
    }
  }

  test("where a lease cannot be written, who shares is still bound beside those that are there") {
    withRegistry { place =>
      val (registry, _) = failures.last(place)
      val got = place.taking("a", WhenFull.Share, from = registry).take(fit)
      assert(got.lease.isEmpty && !got.unbound && got.plan.executors.nonEmpty)
      assert(place.warnings.sizeIs == 1 && place.warnings.head.startsWith("No lease: "))
    }
  }
}
