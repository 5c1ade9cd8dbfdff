package io.hearth.driver

import java.io.IOException
import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.scalatest.Outcome
import org.scalatest.funsuite.FixtureAnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.json.Json
import io.hearth.core.launch.{ArchiveUse, JvmStarter, LaunchSpec}
import io.hearth.core.plan.{BindingMode, HostNames, Launcher}
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.{FakeKernel, FakeProcess, HandDriven, Heard, Places, Temporary}

/** An application is opened, its executors are started, it is closed: in a directory, with no process. */
class RunningApplicationSuite extends FixtureAnyFunSuite {

  override type FixtureParam = World

  override def withFixture(test: OneArgTest): Outcome =
    Temporary.directory(root => withFixture(test.toNoArgTest(new World(root))))

  test("while an application runs its record says so, and a reaper knows what is to go") { world =>
    world.application.open()
    assert(world.record.contains("\"state\" : \"running\""))
    assert(Files.readString(world.runs.resolve("app-1/plan.json")).contains("\"a\" : \"plan\""))
    assert(Files.isDirectory(world.scratchRoot))
    assert(
      world.reaper.read == Vector(
        s"file ${world.runs.resolve("app-1/run.json")}",
        s"directory ${world.scratchRoot}",
        "directory /tmp/spark-1"
      )
    )
    assert(world.record.contains("/tmp/spark-1"), "should the reaper be killed too")
  }

  test(
    "when it ends its record stays and says so, its directories go, its reaper has nothing to do"
  ) { world =>
    world.application.open()
    world.starter.start("0", Places.of(1).head)
    world.application.close()
    assert(world.record.contains("\"state\" : \"finished\""))
    assert(Files.exists(world.runs.resolve("app-1/executors/0/stderr")))
    assert(!Files.exists(world.scratchRoot))
    assert(world.reaper.read.last == "quit")
  }

  test("what an ended executor wrote goes when the tasks that may read it are over; logs stay") {
    world =>
      world.application.open()
      world.startAs("0")
      world.startAs("1")
      val own = world.scratchRoot.resolve("0")
      val blocks = Files.createDirectory(own.resolve("blockmgr-1")).resolve("shuffle_0_0_0.data")
      Files.writeString(blocks, "read by task 7")
      Files.createDirectory(own.resolve("logs"))
      var tasks = Set(5L)
      world.ended.ended("0", () => tasks)
      tasks = Set(7L)
      world.thread.advance(1)
      tasks = Set(7L, 8L) // 8 starts when the loss is handled, as on the executor's successor
      world.thread.advance(60)
      assert(Files.exists(blocks))
      tasks = Set(8L)
      world.thread.advance(5)
      assert(Files.list(own).iterator.asScala.toVector == Vector(own.resolve("logs")))
      assert(Files.exists(world.scratchRoot.resolve("1/tmp")) && world.log.of("warn").isEmpty)
      world.ended.ended("1", () => tasks)
      world.application.close()
      world.thread.advance(60)
      assert(!Files.exists(world.scratchRoot))
  }

  test("directories that the driver makes later are named to the reaper and in the record, once") {
    world =>
      world.application.open()
      world.temporary :+= Path.of("/tmp/spark-2")
      val report = world.kernel.placement("app-1", Vector.empty)
      world.application.placementTaken(report)
      world.application.placementTaken(report)
      assert(world.reaper.read.count(_ == "directory /tmp/spark-2") == 1)
      assert(world.reaper.read.count(_ == "directory /tmp/spark-1") == 1)
      assert(world.record.contains("/tmp/spark-2"))
  }

  test("an id that another application has is refused, and nothing of the other's is removed") {
    world =>
      world.application.open()
      val second = new World(world.root)
      val refused = intercept[UserError](second.application.open()).getMessage
      assert(refused.startsWith("spark.app.id: 'app-1' is the name of an earlier run in "))
      second.application.close()
      assert(Files.isDirectory(world.scratchRoot))
      assert(world.record.contains("\"state\" : \"running\""))
  }

  test("an id that another application with records elsewhere has is refused while that runs") {
    world =>
      world.application.open()
      val file = Files.writeString(world.scratchRoot.resolve("block"), "data")
      val second = new World(world.root, state = "other-runs")
      val refused = intercept[UserError](second.application.open()).getMessage
      assert(
        refused.startsWith(
          s"spark.app.id: an application with this id uses ${world.scratchRoot} already: process "
        )
      )
      second.application.close()
      assert(Files.exists(file))
      world.application.close()
      Files.createDirectory(world.scratchRoot)
      val third = new World(world.root, state = "third-runs")
      third.application.open()
      third.application.close()
      assert(!Files.exists(world.scratchRoot), "what a killed one leaves is used again")
  }

  test("a local directory that cannot be used is named, and what was made before it goes") {
    world =>
      val blocked = Files.writeString(world.root.resolve("file"), "").resolve("hearth-app-1")
      val second = new World(world.root, more = Vector(blocked))
      val refused = intercept[UserError](second.application.open()).getMessage
      assert(refused.startsWith(s"spark.local.dir: $blocked cannot be used: "))
      second.application.close()
      assert(!Files.exists(world.scratchRoot))
      assert(second.record.contains("\"state\" : \"finished\""))
  }

  test("what executors lack is found before anything is made") { world =>
    world.check = () => throw new UserError("spark.hearth.launcher: docker cannot be used here")
    intercept[UserError](world.application.open())
    world.application.close()
    assert(world.root.toFile.list.isEmpty)
    assert(world.reaper.read.isEmpty)
  }

  test("where no record can be kept executors still have logs, and one warning says why") { world =>
    Files.writeString(world.runs, "a file")
    world.application.open()
    world.starter.start("0", Places.of(1).head)
    val logs = world.jvms.specs.head.stderr
    assert(Files.exists(logs.getParent))
    assert(logs.startsWith(world.scratchRoot.getParent))
    world.application.close()
    assert(!Files.exists(logs.getParent))
    assert(world.log.of("warn").size == 1 && world.log.of("warn").head.contains("cannot keep"))
    assert(world.scratchRoot.getParent.toFile.list.isEmpty)
  }

  test(
    "an executor is started in its place with directories of its own, and the reaper watches it"
  ) { world =>
    world.application.open()
    val place = Places.of(2)(1)
    val executor = world.starter.start("3", place)
    val spec = world.jvms.specs.head
    assert(executor.bound && spec.binding.map(_.cpus).contains(place.cpus))
    assert(spec.workDirectory == world.root)
    assert(spec.ownDirectory == world.scratchRoot.resolve("3/work"))
    assert(Files.isDirectory(world.scratchRoot.resolve("3/tmp")))
    assert(spec.environment("SPARK_EXECUTOR_DIRS") == world.scratchRoot.resolve("3").toString)
    assert(world.reaper.read.last == s"process ${executor.process.pid} ${executor.startTicks}")
    assert(
      world.log.of("info").last ==
        s"Started executor 3 in place 1 as process ${executor.process.pid}, bound to CPUs 2-3, memory node 0"
    )
  }

  test("a refused binding fails the start and says what else there is") { world =>
    world.application.open()
    world.jvms.refuse = true
    val refused = intercept[UserError](world.starter.start("0", Places.of(1).head)).getMessage
    assert(refused.contains("sched_setaffinity"))
    assert(refused.endsWith("or set spark.hearth.binding=preferred to continue unbound"))
    assert(world.jvms.specs.isEmpty && !Files.exists(world.scratchRoot.resolve("0")))
  }

  test(
    "a refused binding that the user does not insist on is a warning, and no claim to be bound"
  ) { world =>
    val preferring = new World(world.root, binding = BindingMode.Preferred)
    preferring.application.open()
    preferring.jvms.refuse = true
    val executor = preferring.starter.start("0", Places.of(1).head)
    assert(!executor.bound)
    assert(preferring.jvms.specs.map(_.binding) == Vector(None))
    assert(!preferring.jvms.specs.head.command.exists(_.startsWith("-Dhearth.bound=")))
    assert(preferring.log.of("warn").head.startsWith("Executor 0 continues unbound: "))
    assert(preferring.log.of("info").last.endsWith("not bound"))
  }

  test("a refused memory policy is no matter where there is no other node, and is said once") {
    world =>
      world.application.open()
      world.jvms.refuseMemory = true
      world.kernel.onlyNodes = IdSet(0)
      for (id <- 0 to 1) {
        val executor = world.starter.start(s"$id", Places.of(2)(id))
        assert(executor.bound && executor.memoryBound)
      }
      assert(
        world.jvms.specs.map(_.binding.map(_.cpus)) == Vector(Some(IdSet(0, 1)), Some(IdSet(2, 3)))
      )
      assert(world.jvms.specs.forall(_.binding.exists(_.memoryNodes.isEmpty)))
      assert(world.log.of("warn").isEmpty)
      assert(
        world.log
          .of("info")
          .count(_.startsWith("Executors have no memory policy and need none")) == 1
      )
      world.kernel.onlyNodes = IdSet(0, 1)
      val refused = intercept[UserError](world.starter.start("2", Places.of(2).head)).getMessage
      assert(
        refused.startsWith(
          "the kernel refused set_mempolicy; or set spark.hearth.binding=preferred"
        )
      )
  }

  test("where memory cannot be bound and the user does not insist on it, the CPUs still are") {
    world =>
      val preferring = new World(world.root, binding = BindingMode.Preferred)
      preferring.application.open()
      preferring.jvms.refuseMemory = true
      val executor = preferring.starter.start("0", Places.of(1).head)
      assert(executor.bound && !executor.memoryBound)
      val spec = preferring.jvms.specs.head
      assert(spec.binding.map(b => (b.cpus, b.memoryNodes)).contains((IdSet(0, 1), IdSet.empty)))
      assert(spec.command.exists(_.startsWith("-Dhearth.bound=")), "others keep off its CPUs")
      assert(
        preferring.log.of("warn") == Vector(
          "Executor 0 continues with its CPUs bound, its memory not: the kernel refused set_mempolicy"
        )
      )
      assert(preferring.log.of("info").last.endsWith("bound to CPUs 0-1, its memory not bound"))
  }

  test(
    "a driver that may make no more threads says which limit that is, whatever kind of error it is"
  ) { world =>
    world.archiveMissing()
    world.application.open()
    world.jvms.failure = Some(new OutOfMemoryError("unable to create native thread: possibly ..."))
    val refused = intercept[UserError](world.startAs("0")).getMessage
    assert(refused.startsWith("this driver cannot start any more") && refused.contains(" is "))
    assert(!world.archive.pending, "another executor writes the archive")
    world.jvms.failure = Some(new UnsatisfiedLinkError("noexec"))
    val error = intercept[IllegalStateException](world.startAs("1")).getMessage
    assert(error == "executor 1 could not be started: java.lang.UnsatisfiedLinkError: noexec")
    assert(!world.archive.pending)
  }

  test("temporary files, from which libraries load native code, are where programs may be run") {
    world =>
      def temporary(noexec: Set[Path], more: Path*) = {
        val one = new World(
          Files.createDirectory(world.root.resolve(s"${noexec.size}-${more.size}")),
          more = more.toVector,
          noexec = path => noexec.find(path.startsWith(_))
        )
        one.application.open()
        one.startAs("0")
        val options = one.jvms.specs.head.javaOptions.filter(_.startsWith("-Djava.io.tmpdir="))
        (one, Path.of(options.head.drop("-Djava.io.tmpdir=".length)))
      }
      val (usual, inScratch) = temporary(Set.empty)
      assert(inScratch == usual.scratchRoot.resolve("0/tmp") && !Files.exists(usual.spare))
      val second = world.root.resolve("second/hearth-app-1")
      val local = world.root.resolve("1-1/local")
      assert(temporary(Set(local), second)._2 == second.resolve("0/tmp"))
      val (spared, elsewhere) = temporary(Set(world.root.resolve("1-0/local")))
      assert(elsewhere == spared.spare.resolve("0/tmp") && Files.isDirectory(elsewhere))
      assert(spared.record.contains(spared.spare.toString) && spared.log.of("warn").isEmpty)
      spared.application.close()
      assert(!Files.exists(spared.spare))
      val (nowhere, left) = temporary(Set(world.root.resolve("2-0"), world.root))
      assert(left == nowhere.scratchRoot.resolve("0/tmp"))
      assert(nowhere.log.of("warn").exists(_.contains("is mounted noexec")))
  }

  test("sockets of Python workers have a directory that leaves room for their names") { world =>
    def of(parents: String*)(settings: (String, String)*) = PythonSockets
      .directory(
        "local-numa-1764427814123-12345",
        settings.toMap.get,
        _ => None,
        parents.map(Path.of(_)).toVector
      )
    val asked = "spark.python.unix.domain.socket.enabled" -> "true"
    val longName = s"/home/${"u" * 32}"
    val deep = s"$longName/${"d" * 60}"
    val taken = of(longName, "/tmp")(asked).get
    assert(taken.startsWith(longName) && taken.toString.length <= 61)
    assert(of(deep, "/tmp")(asked).get.getParent == Path.of("/tmp"))
    assert(of(deep)(asked).isEmpty && of("/tmp")().isEmpty)
    assert(of("/tmp")(asked, "spark.python.unix.domain.socket.dir" -> "/mine").isEmpty)
    val short = world.root.resolve("short/hearth-1")
    val one = new World(world.root, sockets = Some(short))
    one.application.open()
    assert(Files.isDirectory(short) && one.record.contains(short.toString))
    one.application.close()
    assert(!Files.exists(short))
  }

  test("without binding none is asked for") { world =>
    val off = new World(world.root, binding = BindingMode.Off)
    off.application.open()
    assert(!off.starter.start("0", Places.of(1).head).bound)
    assert(off.jvms.specs.head.binding.isEmpty)
  }

  test("one executor alone writes the class-data archive, and later ones start from it") { world =>
    world.archiveMissing()
    world.application.open()
    val first = world.startAs("0")
    assert(world.archived == Vector("-XX:ArchiveClassesAtExit=" + world.partial))
    assert(world.reaper.read.contains(s"directory ${world.partial}"))
    world.startAs("1")
    assert(world.archived.isEmpty && world.archive.pending)
    Files.writeString(world.partial, "classes")
    world.ends(first, 0)
    assert(Files.readString(world.whole) == "classes" && !world.archive.pending)
    assert(world.log.of("info").last.startsWith(s"Wrote the class-data archive ${world.whole}"))
    world.startAs("2")
    assert(world.archived.contains(s"-XX:SharedArchiveFile=${world.whole}"))
  }

  test(
    "an archive whose writer was killed is not used, no stop waits for it, its successor writes it"
  ) { world =>
    world.archiveMissing()
    world.application.open()
    val first = world.startAs("0")
    val other = world.startAs("1")
    Files.writeString(world.partial, "half of the cla")
    world.ends(other, 137)
    assert(world.archive.pending, "the writer still runs")
    world.ends(first, 137)
    assert(!world.archive.pending)
    assert(!Files.exists(world.partial) && !Files.exists(world.whole))
    world.startAs("2")
    assert(world.archived == Vector("-XX:ArchiveClassesAtExit=" + world.partial))
    assert(world.archive.pending)
  }

  test("an archive whose writer could not even start is written by the next") { world =>
    world.archiveMissing()
    world.application.open()
    world.jvms.refuse = true
    intercept[UserError](world.startAs("0"))
    assert(!world.archive.pending)
    world.jvms.refuse = false
    world.startAs("1")
    assert(world.archived == Vector("-XX:ArchiveClassesAtExit=" + world.partial))
  }

  test("a cache that cannot be used is one warning, and executors start without an archive") {
    world =>
      world.archiveUse = () => throw new IOException("read-only")
      world.application.open()
      world.startAs("0")
      assert(world.archived.isEmpty)
      assert(world.log.of("warn").size == 1 && world.log.of("warn").head.endsWith(": read-only"))
  }
}

object World {
  final class FakeJvms(kernel: FakeKernel) extends JvmStarter {
    var specs: Vector[LaunchSpec] = Vector.empty

    /** Whether the kernel lets nothing be bound. */
    var refuse = false

    /** Whether it lets no memory be bound. */
    var refuseMemory = false
    var failure = Option.empty[Throwable]

    override def prepare(): Unit = ()
    override def sees(directory: Path): Boolean = true
    override def allow(executorId: String, cpus: IdSet): Unit = ()
    override def taskFailed(error: String): Unit = ()
    override def start(spec: LaunchSpec, executorId: String): Process = {
      failure.foreach(throw _)
      if (refuseMemory && spec.binding.exists(_.memoryNodes.nonEmpty))
        throw new BindingRefused("set_mempolicy", 1, "the kernel refused set_mempolicy")
      if (refuse && spec.binding.nonEmpty)
        throw new BindingRefused(
          "sched_setaffinity",
          22,
          "the kernel refused sched_setaffinity for CPUs 0"
        )
      specs :+= spec
      val process = new FakeProcess(specs.size.toLong)
      kernel.threads += process.pid -> Vector.empty
      process
    }
  }
}

/** An application below a directory, with everything around it that a test may change. */
final class World(
    val root: Path,
    binding: BindingMode = BindingMode.Required,
    more: Vector[Path] = Vector.empty,
    noexec: Path => Option[Path] = _ => None,
    state: String = "runs",
    sockets: Option[Path] = None
) {
  val log = new Heard
  val kernel = new FakeKernel
  val jvms = new World.FakeJvms(kernel)
  val reaper = new FakeProcess(9)
  val runs: Path = root.resolve(state)
  val scratchRoot: Path = root.resolve("local/hearth-app-1")
  val spare: Path = root.resolve("spare/hearth-app-1")
  var temporary: Vector[Path] = Vector(Path.of("/tmp/spark-1"))
  var check: () => Unit = () => ()
  var archiveUse: () => ArchiveUse = () => ArchiveUse.Without("a test")

  private val bestEffort = new BestEffort("hearth cannot keep all of it", log.warn)
  private val client = new Reaper(bestEffort, () => reaper)
  private val scratch =
    new ScratchDirectories(
      scratchRoot +: more,
      spare,
      sockets,
      noexec,
      client,
      bestEffort,
      Temporary.delete
    )
  val thread = new HandDriven
  val ended = new EndedExecutors(scratch, thread, log)
  private val drivers = new DriverDirectories(() => temporary, client)
  private val run =
    new KeptRun(
      () => runs,
      "app-1",
      scratch,
      _ => None,
      describe,
      client,
      bestEffort,
      Temporary.delete
    )
  val archive = new ArchiveWriting(() => archiveUse(), _ => true, client, bestEffort, log)
  val application = new RunningApplication(
    () => check(),
    () => Vector.empty,
    Json.obj().put("a", "plan"),
    RunningApplication.Parts(bestEffort, client, run, scratch, ended, drivers, archive),
    log
  )
  val starter = new ExecutorStarter(
    ExecutorSettings(
      ExecutorSuite.app,
      _.host,
      (_, _) => None,
      _ => Vector.empty,
      _ => root,
      _ => None
    ),
    new PlacementLauncher(binding, jvms, kernel, log),
    scratch,
    run,
    archive,
    client,
    log
  )

  private def describe(state: RunState) = RunRecord(
    "app-1",
    "a name",
    "local-numa",
    "4.3.0",
    "here",
    1,
    1,
    Instant.EPOCH,
    state,
    HostNames.OfNodes,
    binding,
    Launcher.AsProcess,
    None,
    scratch.all ++ drivers.all
  )

  def record: String = Files.readString(runs.resolve("app-1/run.json"))

  def whole: Path = root.resolve("cache/executor-1.jsa")
  def partial: Path = root.resolve("cache/executor-1.app-1.part")
  def archiveMissing(): Unit = {
    Files.createDirectories(whole.getParent)
    archiveUse = () => ArchiveUse.Write(partial, whole)
  }

  def startAs(id: String): RunningExecutor = starter.start(id, Places.of(1).head)
  def ends(executor: RunningExecutor, code: Int): Unit = archive.exited(executor.id, code)

  /** The JVM options about an archive, of the executor that was started last. */
  def archived: Vector[String] =
    jvms.specs.last.javaOptions.filter(o => o.contains("Archive") || o.contains("Xshare"))
}
