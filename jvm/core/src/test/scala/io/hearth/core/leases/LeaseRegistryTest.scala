package io.hearth.core.leases

import java.io.{BufferedReader, IOException, InputStreamReader}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.{Child, Required, Temporary}
import io.hearth.core.files.Replaceable
import io.hearth.core.topology.IdSet

/** Leases between processes, in a directory of each test's own. */
class LeaseRegistryTest extends AnyFunSuite {

  private class Started(words: String*) {
    private val java =
      Vector(s"${sys.props("java.home")}/bin/java", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    private val main = Vector("-cp", sys.props("java.class.path"), "io.hearth.core.leases.Taker")
    val process: Process = new ProcessBuilder((java ++ main ++ words).asJava)
      .redirectError(ProcessBuilder.Redirect.INHERIT)
      .start()
    private val output = new BufferedReader(new InputStreamReader(process.getInputStream))
    def line(): String = output.readLine()
    def go(): Unit = {
      process.getOutputStream.write('\n')
      process.getOutputStream.flush()
    }
    def kill(): Unit = {
      process.destroyForcibly()
      assert(process.waitFor(60, TimeUnit.SECONDS))
    }
  }

  private def withProcesses[A](test: (Path, mutable.Buffer[Started]) => A): A =
    Temporary.directory { directory =>
      val started = mutable.Buffer.empty[Started]
      try test(directory, started)
      finally started.foreach(_.kill())
    }

  private def registry(directory: Path) = new LeaseRegistry(directory, Taker.Boot)
  private def impatient(directory: Path) = new LeaseRegistry(directory, Taker.Boot, limitMs = 200)
  private def cpus(directory: Path): IdSet = registry(directory).read().cpus
  private def files(directory: Path): Vector[String] =
    Using.resource(Files.list(directory))(_.iterator.asScala.map(_.getFileName.toString).toVector)

  test("of many that start at the same instant, many times, no two ever have the same CPU") {
    withProcesses { (directory, started) =>
      val marks = Files.createDirectory(directory.resolve("marks"))
      val leases = Files.createDirectory(directory.resolve("leases"))
      for (_ <- 1 to 6)
        started += new Started("rounds", leases.toString, marks.toString, "3", "50")
      started.foreach(child => assert(child.line() == "ready"))
      started.foreach(_.go())
      val said = started.map(_.line())
      assert(said.forall(_.endsWith(" 0 clashes")), said)
      assert(said.map(_.takeWhile(_ != ' ').toInt).sum > 50, said)
      assert(files(leases).isEmpty)
    }
  }

  test(
    "kill -9 of its holder frees a lease at once, and the next of the same user removes the file"
  ) {
    withProcesses { (directory, started) =>
      val holder = new Started("hold", directory.toString)
      started += holder
      assert(Path.of(holder.line()).getParent == directory)
      assert(cpus(directory) == IdSet(0, 1))
      assert(registry(directory).read().live.map(_.lease.pid) == Vector(holder.process.pid))
      holder.kill()
      assert(cpus(directory).isEmpty && files(directory).sizeIs == 1)
      registry(directory).exclusively()(_ => ())
      assert(files(directory).isEmpty)
    }
  }

  test("a lease outlives its killed driver for as long as one of its executors does") {
    withProcesses { (directory, started) =>
      val driver = new Started("hold", directory.toString)
      started += driver
      val executor = new Started("join", driver.line())
      started += executor
      assert(executor.line() == "ready")
      driver.kill()
      registry(directory).exclusively()(r => assert(r.leases.cpus == IdSet(0, 1)))
      executor.kill()
      assert(cpus(directory).isEmpty)
    }
  }

  test("reading leases in the process that holds one does not drop it") {
    withProcesses { (directory, started) =>
      val held = registry(directory).exclusively()(_.take(Taker.lease("own", IdSet(5))))
      assert(cpus(directory) == IdSet(5) && cpus(directory) == IdSet(5))
      val other = new Started("hold", directory.toString)
      started += other
      other.line()
      assert(cpus(directory) == IdSet(0, 1, 5))
      held.close()
      assert(cpus(directory) == IdSet(0, 1))
    }
  }

  test(
    "who keeps the registry locked is named after a bounded wait, in which only a lease without CPUs is taken"
  ) {
    withProcesses { (directory, started) =>
      val holder = new Started("lock", directory.toString)
      started += holder
      assert(holder.line() == "ready")
      val held = impatient(directory).exclusively() { registry =>
        val unknown = registry.leases.unknown.mkString
        assert(unknown.contains(s"process ${holder.process.pid} (java) of "))
        assert(unknown.endsWith(s"kept $directory locked for 0.2 s"))
        intercept[IllegalArgumentException](registry.take(Taker.lease("a", IdSet(1))))
        registry.take(Taker.lease("a", IdSet.empty))
      }
      assert(registry(directory).read().live.map(_.lease.appId) == Vector("a"))
      held.close()
      holder.kill()
      impatient(directory).exclusively()(registry => assert(registry.leases.isEmpty))
      assert(files(directory).isEmpty)
    }
  }

  test("one that waits for the lock says who has it after some seconds, once") {
    withProcesses { (directory, started) =>
      val holder = new Started("lock", directory.toString)
      started += holder
      assert(holder.line() == "ready")
      val said = mutable.Buffer.empty[String]
      val ended = new LeaseRegistry(directory, Taker.Boot).exclusively { sentence =>
        said += sentence
        holder.kill()
      }(_.leases)
      assert(ended.isEmpty && said.sizeIs == 1)
      assert(said.head.startsWith(s"Waiting to take a lease: process ${holder.process.pid} (java)"))
    }
  }

  test("kill -9 of one that waits for the lock, or of one that has it, holds nobody up") {
    withProcesses { (directory, started) =>
      val holder = new Started("lock", directory.toString)
      started += holder
      assert(holder.line() == "ready")
      val waits = Vector.fill(2)(new Started("hold", directory.toString))
      started ++= waits
      Thread.sleep(1000) // some of them wait by now
      waits.head.kill()
      holder.kill()
      assert(Path.of(waits(1).line()).getParent == directory)
      waits(1).kill()
      registry(directory).exclusively()(registry => assert(registry.leases.isEmpty))
      assert(files(directory).isEmpty)
    }
  }

  /** Of user `nobody`, where this is root, else of this one's. */
  private def stranger(file: Path): Path = {
    if (Replaceable.me == 0) Files.setAttribute(file, "unix:uid", 65534)
    file
  }

  test("however many files another user leaves, held or not, they hide no lease of anybody else's") {
    Temporary.directory { directory =>
      val held = registry(directory).exclusively()(_.take(Taker.lease("own", IdSet(5))))
      for (n <- 1 to 10000)
        stranger(Files.createFile(directory.resolve(s"hearth-lease-$n.json")))
      val read = registry(directory).read()
      assert(read.cpus == IdSet(5) && read.problems.isEmpty && read.unknown.isEmpty)
      Required("root", Replaceable.me == 0, "root, who alone can give files away,")
      val theirs = Taker.lease("theirs", IdSet(6)).toJson.toString
      val locks = (0 to LeaseFiles.MaxHeld).map { n =>
        val open = locked(directory.resolve(s"hearth-lease-many$n.json"), theirs)
        stranger(directory.resolve(s"hearth-lease-many$n.json"))
        open
      }
      val more = registry(directory).read()
      assert(more.cpus == IdSet(5, 6) && more.live.exists(_.lease.appId == "own"))
      assert(more.unknown.sizeIs == 1)
      assert(
        more.unknown.head.startsWith(s"user nobody holds more than ${LeaseFiles.MaxHeld} files")
      )
      locks.foreach(_.close())
      held.close()
    }
  }

  test("of files of one user that are no leases a few are named") {
    Temporary.directory { directory =>
      for (n <- 1 to 100) Files.createDirectory(directory.resolve(s"hearth-lease-$n.json"))
      val problems = registry(directory).read().problems
      assert(problems.size == 9 && problems.last.startsWith("92 more files of user "))
    }
  }

  test(
    "what hearth cannot have named is no file of its, whatever a terminal would make of the name"
  ) {
    Temporary.directory { directory =>
      val good = Taker.lease("good", IdSet(1)).toJson.toString
      val held =
        for (name <- Vector("a\nb", "a\u001b[2J", "\u202e", "", "a.b", "x" * 100))
          yield locked(directory.resolve(s"hearth-lease-$name.json"), good)
      assert(registry(directory).read() == Leases.none)
      held.foreach(_.close())
    }
  }

  test("another user's read lock on whatever it can open keeps nobody from a lease") {
    Required("root", Replaceable.me == 0 && Child.has("setpriv"), "root, who plays a second user,")
    Required("python3", Files.exists(Path.of("/usr/bin/python3")), "/usr/bin/python3")
    Temporary.directory { directory =>
      Files.setAttribute(directory, "unix:mode", 0x3ff) // 1777
      val words = Vector("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
      val program = Vector("/usr/bin/python3", "-c", LeaseRegistryTest.Reader, directory.toString)
      val reader = new ProcessBuilder((words ++ program).asJava).start()
      try {
        assert(reader.getInputStream.read() == '.')
        for (n <- 1 to 300)
          registry(directory).exclusively()(_.take(Taker.lease("a", IdSet(n)))).close()
      } finally reader.destroyForcibly()
    }
  }

  /** A file in the registry that a process holds, as a lease is held. */
  private def locked(file: Path, text: String, mode: Int = 0x1a4): OpenFile = {
    val open = LinuxLocks.create(file, mode)
    open.setMode(mode)
    open.write(text.getBytes)
    assert(open.lockByte(0))
    open
  }

  test(
    "what is no lease is named and does no harm: damaged, older, of another boot, forged or a link"
  ) {
    Temporary.directory { directory =>
      val good = Taker.lease("good", IdSet(1)).toJson.toString
      def file(name: String) = directory.resolve(s"hearth-lease-$name.json")
      val held = Vector(
        locked(file("damaged"), good.dropRight(9)),
        locked(file("older"), good.replace("hearth/lease/1", "hearth/lease/0")),
        locked(file("absent"), good.replace("\"cpus\"", "\"x\"")),
        locked(file("boot"), good.replace(Taker.Boot, "earlier")),
        locked(file("open"), good, mode = 0x1b6),
        locked(file("huge"), "[" * 200000),
        locked(file("two-names"), good),
        locked(file("good"), good)
      )
      Files.createLink(file("two-names-2"), file("two-names"))
      val elsewhere = Files.writeString(directory.resolve("elsewhere"), good)
      Files.createSymbolicLink(file("link"), elsewhere)
      assert(Child.run(Vector("mkfifo", file("pipe").toString)).exit == 0)
      Files.createDirectory(file("directory"))
      Files.writeString(file("ended"), good)
      val read = registry(directory).read()
      assert(read.live.map(_.lease.appId) == Vector("good", "good"), "that with two names is one")
      val problems = read.problems.mkString("\n")
      val named = Vector("damaged", "older", "absent", "open", "huge", "link", "pipe", "directory")
      named.foreach(name => assert(problems.contains(s"hearth-lease-$name.json"), problems))
      assert(!problems.contains("-boot.") && !problems.contains("-ended."))
      registry(directory).exclusively()(_ => ())
      assert(Files.readString(elsewhere) == good, "a link is not followed")
      held.foreach(_.close())
    }
  }

  test(
    "numbers of a lease are what a machine and a calendar can have, and its list of CPUs is short"
  ) {
    val json = Taker.lease("a", IdSet(1)).toJson.toString
    def read(from: String, to: String) = Lease.read(json.replace(from, to).ensuring(_ != json))
    val huge = read(s"${1L << 30}", s"${Long.MaxValue}").toOption.get
    val all = Leases(Vector.fill(3)(LiveLease(huge, "a", ours = true)))
    assert(all.memoryBytes == Map(0 -> Lease.MaxBytes) && all.ownMemoryBytes == Lease.MaxBytes)
    val wrong = Vector(
      "\"since\":0" -> s"\"since\":${Long.MaxValue}",
      "\"0\":" -> "\"-1\":",
      "\"0\":" -> "\"99999999\":",
      "\"cpus\":\"1\"" -> s"\"cpus\":\"${"0-65535:1/2," * 4000}1\""
    )
    wrong.foreach { case (from, to) => assert(read(from, to).isLeft, to.take(40)) }
  }

  test("texts of a forged lease write nothing to a terminal") {
    val forged = Taker.lease("a\u001b[2J" + "b" * 500, IdSet(1)).toJson.toString
    assert(Lease.read(forged).map(_.appId) == Right("a?[2J" + "b" * 55))
  }

  test(
    "a directory in which others could remove leases is refused, and one that cannot be written says so"
  ) {
    Temporary.directory { directory =>
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"))
      val open = intercept[IOException](registry(directory).read())
      assert(open.getMessage.contains("others could remove leases"))
      val link = Files.createSymbolicLink(directory.resolve("link"), directory)
      assert(intercept[IOException](registry(link).read()).getMessage.contains("not a directory"))
      intercept[IOException](registry(directory.resolve("absent")).exclusively()(_ => ()))
    }
    // The kernel's own file system takes no file, not even root's.
    intercept[IOException](
      registry(Path.of("/proc/self/fdinfo")).exclusively()(_.take(Taker.lease("a", IdSet(1))))
    )
  }
}

private object LeaseRegistryTest {

  /** Keeps a read lock on each new file that it can open; writes a dot first. */
  val Reader: String = """
import fcntl, os, struct, sys
folder, kept, lock = sys.argv[1], {}, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
os.write(1, b".")
while True:
    for name in os.listdir(folder):
        if name not in kept:
            try:
                kept[name] = os.open(os.path.join(folder, name), os.O_RDONLY)
                fcntl.fcntl(kept[name], fcntl.F_OFD_SETLK, lock)
            except OSError:
                pass
"""
}
