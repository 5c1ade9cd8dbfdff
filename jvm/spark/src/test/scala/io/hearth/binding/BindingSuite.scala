package io.hearth.binding

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.affinity.BindingRefused
import io.hearth.core.json.Json
import io.hearth.core.leases.{Lease, LeaseRegistry, Leases, LiveLease}
import io.hearth.core.placement.{ProcessPlacement, ThreadPlacement}
import io.hearth.core.topology.{IdSet, MachineSpec, Neighbours, Topology}
import io.hearth.driver.BestEffort
import io.hearth.driver.testing.Heard

/** What an executor that somebody else has started does with itself. */
class BindingSuite extends AnyFunSuite {
  private val twoNodes = MachineSpec.parse("2 nodes of 64 GB, 8 cores")
  private val oneNode = MachineSpec.parse("1 node of 64 GB, 16 cores")

  private def view(
      machine: Topology,
      cores: Option[Int],
      cpus: String = "",
      jvm: OwnJvm = OwnJvm(4096, None, useNuma = false),
      ownProcesses: Boolean = false
  ): ExecutorView = {
    val allowed = if (cpus.isEmpty) machine.allowed.cpus else ids(cpus)
    ExecutorView(
      machine.copy(allowed = machine.allowed.copy(cpus = allowed)),
      cores,
      jvm,
      Map.empty,
      Neighbours.none,
      ownProcesses
    )
  }

  private def ids(text: String): IdSet = IdSet.parse(text).fold(e => fail(e), identity)

  private def leased(cpus: String*): Leases = Leases(
    cpus.toVector.map { held =>
      val lease = Lease.of(s"app/$held", "n", 7, 1)
      LiveLease(lease.copy(cpus = ids(held)), "ann", ours = true)
    },
    Vector.empty
  )

  /** What the kernel was asked for; `refusing` names the calls that it refuses. */
  private class Asked(refusing: Set[String] = Set.empty) extends OwnProcess {
    val calls: mutable.Buffer[String] = mutable.Buffer.empty
    override def problem: Option[String] = None
    override def bindCpus(cpus: IdSet): Unit = ask("cpus", s"cpus $cpus")
    override def bindMemory(nodes: IdSet): Unit = ask("memory", s"memory $nodes")
    override def moveMemory(from: IdSet, to: IdSet): Long = {
      ask("move", s"move $from to $to")
      0
    }
    override def placement(): Either[String, ProcessPlacement] = {
      val cpus = calls.reverseIterator.collectFirst { case s"cpus $set" => ids(set) }
      val threads = cpus.map(ThreadPlacement(1, "java", _, 0)).toVector
      Right(
        ProcessPlacement(1, threads, None, ids("0-1"), Map("default" -> 3), Map(0 -> 99, 1 -> 1))
      )
    }
    private def ask(call: String, what: String): Unit = {
      if (refusing(call) && !calls.contains(what)) {
        calls += what
        throw new BindingRefused(call, 1, s"EPERM for $call")
      }
      calls += what
    }
  }

  private def withRegistry(test: LeaseRegistry => Any): Unit = {
    val directory = Files.createTempDirectory("hearth-binding")
    val _ = test(new LeaseRegistry(directory, "boot", limitMs = 200))
    Files.delete(directory)
  }

  private def binding(
      seen: ExecutorView,
      process: OwnProcess,
      registry: LeaseRegistry,
      observeOnly: Option[String] = None,
      id: String = "1"
  ): Outcome = new ExecutorBinding(
    observeOnly,
    seen,
    process,
    () => registry,
    !seen.ownProcesses,
    Lease.of(s"app/$id", "n", 7, 1),
    _ => ()
  ).run()

  test("each executor gets CPUs of one node that no other has, as many as its cores ask for") {
    val first = Partition.find(view(twoNodes, Some(8)), Leases.none).toOption.get
    assert((first.cpus, first.memoryNodes) == ((ids("0-7"), ids("0"))))
    val second = Partition.find(view(twoNodes, Some(8)), leased("0-7")).toOption.get
    assert((second.cpus, second.memoryNodes) == ((ids("8-15"), ids("1"))))
    val third = Partition.find(view(twoNodes, Some(8)), leased("0-7", "8-15"))
    assert(third.left.exists(_.contains("held by app/0-7 of ann (process 7) on CPUs 0-7")))
  }

  test("executors narrower than a node spread over the nodes") {
    val places = (1 to 4).foldLeft(Vector.empty[String]) { (held, _) =>
      held :+ Partition.find(view(twoNodes, Some(4)), leased(held: _*)).toOption.get.cpus.toString
    }
    assert(places.map(cpus => twoNodes.nodeOf(ids(cpus).head).get.id) == Vector(0, 1, 0, 1))
    assert(IdSet.union(places.map(ids)) == ids("0-15"))
  }

  test("a cluster manager's cgroup limits one executor, and is no share of the machine") {
    val tight = twoNodes.copy(allowed = twoNodes.allowed.copy(memoryLimitBytes = Some(5L << 30)))
    assert(Partition.find(view(tight, Some(8)), Leases.none).isRight)
  }

  test("what its cores are is taken from its own command line, whoever has started it") {
    val java = "org.apache.spark.executor.CoarseGrainedExecutorBackend --cores 6 --app-id a"
    assert(ExecutorView.coresOf(java, Map("spark.executor.cores" -> "2")).contains(6))
    assert(ExecutorView.coresOf("Main", Map("spark.executor.cores" -> "2")).contains(2))
    assert(
      Partition
        .find(view(twoNodes, None), Leases.none)
        .left
        .exists(_.contains("spark.executor.cores"))
    )
  }

  test("an executor on a node of several, or on CPUs of its own, has been narrowed already") {
    assert(Partition.isNarrowed(view(twoNodes, Some(4), "8-15"))) // numactl of YARN
    assert(Partition.isNarrowed(view(twoNodes, Some(8), "4-11"))) // kubelet's static CPU manager
    assert(Partition.isNarrowed(view(oneNode, Some(4), "4-7")))
  }

  test("a machine of which a few CPUs are kept for others is there to be divided") {
    assert(!Partition.isNarrowed(view(twoNodes, Some(4))))
    assert(!Partition.isNarrowed(view(twoNodes, Some(4), "1-15")))
    assert(!Partition.isNarrowed(view(oneNode, Some(4), "1-15")))
  }

  test("a free executor is bound, its memory moved, and its CPUs are leased until it ends") {
    withRegistry { registry =>
      val kernel = new Asked
      val outcome = binding(view(twoNodes, Some(8)), kernel, registry)
      assert(outcome.state == BindingState.Bound)
      assert(kernel.calls.toVector == Vector("cpus 0-7", "memory 0", "move 1 to 0"))
      assert(
        outcome.drift.isEmpty && outcome.refusal.isEmpty
      ) // a policy of older threads is no drift
      val second = binding(view(twoNodes, Some(8)), new Asked, registry, id = "2")
      assert(second.place.cpus == ids("8-15"))
      assert(registry.read().live.map(_.lease.appId).toSet == Set("app/1", "app/2"))
      Vector(outcome, second).foreach(_.lease.foreach(_.close()))
      assert(registry.read().isEmpty)
    }
  }

  test("a narrowed executor is verified and left as it is") {
    withRegistry { registry =>
      val kernel = new Asked
      val outcome = binding(view(twoNodes, Some(8), "8-15"), kernel, registry)
      assert((outcome.state, kernel.calls.size) == ((BindingState.Narrowed, 0)))
      assert(outcome.drift.exists(_.contains("99.0 % of its anonymous memory outside node 1")))
      assert(outcome.refusal.isEmpty && registry.read().isEmpty)
    }
  }

  test("where only a look is wanted, nothing is leased and nothing is bound") {
    withRegistry { registry =>
      val kernel = new Asked
      val outcome = binding(view(twoNodes, Some(8)), kernel, registry, Some("off"))
      assert((outcome.state, kernel.calls.size) == ((BindingState.Observed, 0)))
      assert(
        registry.read().isEmpty && outcome.advice.exists(_.contains("span the memory nodes 0-1"))
      )
    }
  }

  test("in a container that sees no lease of others nothing is claimed, and it says what to mount") {
    withRegistry { registry =>
      val outcome = binding(view(twoNodes, Some(8), ownProcesses = true), new Asked, registry)
      assert(outcome.refusal.exists(_.contains("spark.executorEnv.HEARTH_LEASES")))
      assert(registry.read().isEmpty)
    }
  }

  test("where the kernel refuses CPUs all threads get theirs back, and so does the registry") {
    withRegistry { registry =>
      val kernel = new Asked(Set("cpus"))
      val outcome = binding(view(twoNodes, Some(8)), kernel, registry)
      assert(outcome.state == BindingState.Unbound && outcome.refusal.contains("EPERM for cpus"))
      assert(kernel.calls.last == "cpus 0-15")
      assert(registry.read().isEmpty)
    }
  }

  test("where the kernel refuses memory the CPUs are bound, and strict ones are told") {
    withRegistry { registry =>
      for (call <- Vector("memory", "move")) {
        val outcome = binding(view(twoNodes, Some(8)), new Asked(Set(call)), registry)
        assert(outcome.state == BindingState.Bound && outcome.place.memoryNodes.isEmpty)
        assert(outcome.refusal.contains(s"its memory is not bound: EPERM for $call"))
        outcome.lease.foreach(_.close())
      }
    }
  }

  test("without a directory for leases an executor is not bound, and says why in one line") {
    val nowhere = new LeaseRegistry(Path.of("/nonexistent"), "boot", limitMs = 200)
    val outcome = binding(view(twoNodes, Some(8)), new Asked, nowhere)
    assert(outcome.sentence == "not bound: no lease can be kept: NoSuchFile /nonexistent")
  }

  test("each setting that does not fit is named with the one to change") {
    val large = OwnJvm(100L << 10, Some(13), useNuma = true)
    val said = Advice.of(view(twoNodes, Some(8), jvm = large), ids("0-7"))
    assert(said.size == 3)
    assert(said.exists(_.contains("spark.executor.memory to less than 65536m")))
    assert(said.exists(_.contains("-XX:ActiveProcessorCount=8")))
    assert(said.exists(_.contains("-XX:+UseNUMA")))
    val wide = Advice.of(view(twoNodes, Some(12)), ids("0-11"))
    assert(wide.exists(_.contains("set spark.executor.cores to at most 8")))
    val crowded = Advice.of(view(twoNodes, Some(8)), ids("0-3"))
    assert(crowded.exists(_.contains("8 tasks at a time share 4 CPUs")))
    assert(Advice.of(view(twoNodes, Some(8)), ids("0-7")).isEmpty)
  }

  test("the driver shows each executor once, keeps all, and forgets old applications") {
    withRegistry { registry =>
      val directory = Files.createTempDirectory("hearth-bindings")
      val heard = new Heard
      def of(app: String) = new BindingReports(
        () => app,
        "n",
        directory,
        2,
        new BestEffort("not kept", fail(_)),
        heard
      )
      val reports = of("app/1")
      val outcome = binding(view(twoNodes, Some(8)), new Asked(Set("memory")), registry)
      outcome.lease.foreach(_.close())
      def report(id: String) = BindingReports.report(id, "big1", 7, outcome).toString
      val told = Vector("1", "2").map(id => reports.add(report(id)))
      assert(told.forall(_.exists(_.contains("its memory is not bound: EPERM for memory"))))
      reports.publish()
      assert(reports.add(report("3")).nonEmpty)
      reports.publish()
      reports.publish()
      val tables = heard.all.map(_._2).filter(_.contains("CPUs allowed"))
      assert(tables.map(_.linesIterator.size) == Vector(4, 3))
      assert(heard.all.map(_._2).count(_.contains("its memory is not bound")) == 3)
      val kept = Json.parse(Files.readString(reports.file), "it")
      assert(kept.path("executors").size == 3)
      Vector("b", "c").foreach { app =>
        val other = of(app)
        assert(other.add(report("1")).nonEmpty)
        Thread.sleep(20) // a file system's clock
        other.publish()
      }
      val files = Using.resource(Files.list(directory))(_.iterator.asScala.toVector)
      assert(files.map(_.getFileName.toString).toSet == Set("b.json", "c.json"))
      files.foreach(Files.delete(_))
      Files.delete(directory)
    }
  }
}
