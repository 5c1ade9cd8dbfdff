package io.hearth.core.leases

import java.io.{BufferedReader, IOException, InputStreamReader}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.testing.{Child, Temporary}
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
      assert(process.waitFor(20, TimeUnit.SECONDS))
    }
  }

  private def withProcesses(test: (Path, mutable.Buffer[Started]) => Unit): Unit =
    Temporary.directory { directory =>
      val started = mutable.Buffer.empty[Started]
      try test(directory, started)
      finally started.foreach(_.kill())
    }

  private def registry(directory: Path) = new LeaseRegistry(directory, Taker.Boot)
  private def cpus(directory: Path): IdSet = registry(directory).read().cpus
  private def files(directory: Path): Vector[String] =
    Using.resource(Files.list(directory))(_.iterator.asScala.map(_.getFileName.toString).toVector)

  test("of many that start at the same instant, many times, no two ever have the same CPU") {
    withProcesses { (directory, started) =>
      val marks = Files.createDirectory(directory.resolve("marks"))
      val leases = Files.createDirectory(directory.resolve("leases"))
      for (_ <- 1 to 6)
        started += new Started("rounds", leases.toString, marks.toString, "3", "100")
      started.foreach(child => assert(child.line() == "ready"))
      started.foreach(_.go())
      val said = started.map(_.line())
      assert(said.forall(_.endsWith(" 0 clashes")), said)
      assert(said.map(_.takeWhile(_ != ' ').toInt).sum > 100, said)
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

  test("who keeps the registry locked is named after a bounded wait, and when it ends all goes on") {
    withProcesses { (directory, started) =>
      val holder = new Started("lock", directory.toString)
      started += holder
      assert(holder.line() == "ready")
      val error = intercept[UserError](registry(directory).exclusively(200)(_ => ()))
      assert(error.getMessage.contains(s"process ${holder.process.pid} (java) of "))
      assert(error.getMessage.contains("0.2 s"))
      holder.kill()
      registry(directory).exclusively(200)(_ => ())
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
      Files.createLink(directory.resolve("other-name"), file("two-names"))
      val elsewhere = Files.writeString(directory.resolve("elsewhere"), good)
      Files.createSymbolicLink(file("link"), elsewhere)
      assert(Child.run(Vector("mkfifo", file("pipe").toString)).exit == 0)
      Files.createDirectory(file("directory"))
      Files.writeString(file("ended"), good)
      val read = registry(directory).read()
      assert(read.live.map(_.lease.appId) == Vector("good"))
      val problems = read.problems.mkString("\n")
      val named = Vector("damaged", "older", "absent", "open", "huge", "two-names", "link", "pipe")
      named.foreach(name => assert(problems.contains(s"hearth-lease-$name.json"), problems))
      assert(!problems.contains("-boot.") && !problems.contains("-ended."))
      registry(directory).exclusively()(_ => ())
      assert(Files.readString(elsewhere) == good, "a link is not followed")
      held.foreach(_.close())
    }
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
