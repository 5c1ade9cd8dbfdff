package io.hearth.core.placement

import java.nio.file.{Files, Path, StandardOpenOption}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.launch.Binding
import io.hearth.core.testing.{Child, Idle, Required}
import io.hearth.core.topology.{IdSet, TopologyReader}
import io.hearth.core.testing.Temporary

/** Drift made by hand on a real process: its threads pinned, its cpuset narrowed, a CPU taken from a tree. */
class DriftSuite extends AnyFunSuite with BeforeAndAfterEach {

  private val cpus = LinuxScheduling.cpusOfThread()
  private val nodes = TopologyReader.load(None).allowed.nodes
  private var process = Option.empty[Process]

  override def afterEach(): Unit = process.foreach { p =>
    p.destroyForcibly()
    p.waitFor(60, TimeUnit.SECONDS)
  }

  /** A JVM of some ten threads of its own, bound to nothing, planned for all CPUs of this test. */
  private def idle(): Subject = {
    Required("two CPUs", cpus.size > 1, "a second CPU")
    val command = Vector(
      s"${sys.props("java.home")}/bin/java",
      "-cp",
      sys.props("java.class.path"),
      Idle.getClass.getName.stripSuffix("$")
    )
    val started = new ProcessBuilder(command.asJava).start()
    process = Some(started)
    assert(started.inputReader.readLine() == "ready")
    val ticks = PlacementReport.startTicks(Path.of("/proc"), started.pid).get
    Subject("1", 0, "here", started.pid, ticks, Binding(cpus, nodes), bound = true)
  }

  private def threads(pid: Long): Vector[Int] =
    Using.resource(Files.list(Path.of(s"/proc/$pid/task")))(
      _.iterator.asScala.map(_.getFileName.toString.toInt).toVector.sorted
    )

  private def pin(tid: Int, to: Int): Unit = {
    Required("taskset", Child.has("taskset"), "the command taskset (util-linux)")
    val done = Child.run(Vector("taskset", "-pc", to.toString, tid.toString))
    assert(done.exit == 0, done.err)
  }

  private def cpuDrift(subject: Subject, root: Path = Path.of("/")): Vector[String] = {
    val finding = PlacementReport.take(root, "app", Vector(subject)).findings.head
    // An unbound process has another memory policy than the plan's; here it is CPUs that count.
    finding.drift.filterNot(d => Set("policy", "memory").contains(d.kind)).map(_.sentence)
  }

  private def sample(subject: Subject): Set[String] =
    PlacementSample.at(subject.pid).get.deviations(subject.planned)

  test("all threads but one pinned to one CPU: both the look and the reading tell, with names") {
    val subject = idle()
    assert(cpuDrift(subject).isEmpty)
    assert(sample(subject).isEmpty)
    val pinned = threads(subject.pid).drop(1)
    pinned.foreach(pin(_, cpus.head))
    val others = cpus &~ IdSet(cpus.head)
    assert(sample(subject) == Set(s"CPUs $others abandoned"))
    cpuDrift(subject) match {
      case Vector(sentence) =>
        assert(sentence.contains(s"threads that may not run on CPUs $others, planned $cpus"))
        assert(sentence.contains(s"on CPUs ${cpus.head} ("))
        assert(sentence.contains(s" ${pinned.head}, "))
      case other => fail(other.toString)
    }
  }

  test("a cpuset that is narrowed under a process is drift") {
    val subject = idle()
    val group = ownCpuset()
    try {
      write(group.resolve("cgroup.procs"), subject.pid.toString)
      assert(cpuDrift(subject).isEmpty)
      write(group.resolve("cpuset.cpus"), cpus.head.toString)
      assert(sample(subject) == Set(s"CPUs ${cpus &~ IdSet(cpus.head)} abandoned"))
      assert(cpuDrift(subject).exists(_.contains("threads that may not run on CPUs")))
    } finally {
      process.foreach(_.destroyForcibly().waitFor(60, TimeUnit.SECONDS))
      removeSoon(group)
    }
  }

  test("a planned CPU that has been taken offline is drift, in a tree like the kernel's") {
    val subject = idle()
    Temporary.directory { root =>
      val online = root.resolve("sys/devices/system/cpu/online")
      Files.createDirectories(online.getParent)
      Files.createSymbolicLink(root.resolve("proc"), Path.of("/proc"))
      Files.writeString(online, s"$cpus\n")
      assert(cpuDrift(subject, root).isEmpty)
      Files.writeString(online, s"${cpus.head}\n")
      assert(
        cpuDrift(subject, root) ==
          Vector(s"has CPUs ${cpus &~ IdSet(cpus.head)} of its plan offline, planned $cpus")
      )
      // A container's list (lxcfs): the CPUs themselves say that they run.
      cpus.iterator.foreach(cpu =>
        Files.createDirectories(online.resolveSibling(s"cpu$cpu/topology"))
      )
      assert(cpuDrift(subject, root).isEmpty)
    }
  }

  /** A cpuset of cgroup v1 or v2 with all CPUs of this test, that this test may write. */
  private def ownCpuset(): Path = {
    val one = Path.of("/sys/fs/cgroup/cpuset")
    val two = Path.of("/sys/fs/cgroup")
    val controllers = two.resolve("cgroup.subtree_control")
    val hasTwo = Files.exists(controllers) && Files.readString(controllers).contains("cpuset")
    val parent = if (Files.isDirectory(one)) one else two
    val usable = (Files.isDirectory(one) || hasTwo) && Files.isWritable(parent)
    Required("cpuset", usable, "a cpuset that this user may write")
    val group = Files.createDirectory(parent.resolve(s"hearth-drift-${ProcessHandle.current.pid}"))
    write(group.resolve("cpuset.cpus"), cpus.toString)
    write(group.resolve("cpuset.mems"), nodes.toString)
    group
  }

  private def write(file: Path, text: String): Unit = {
    Files.write(file, text.getBytes, StandardOpenOption.WRITE)
    ()
  }

  /** The kernel keeps a group for a moment after its last process has been reaped. */
  private def removeSoon(group: Path): Unit = {
    val deadline = System.nanoTime + TimeUnit.SECONDS.toNanos(10)
    while (!group.toFile.delete() && System.nanoTime < deadline) Thread.sleep(20)
    assert(!Files.exists(group))
  }
}
