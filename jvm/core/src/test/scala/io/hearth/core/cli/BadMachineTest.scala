package io.hearth.core.cli

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Child
import io.hearth.core.topology.{Fixture, Gatherer, Machines}

/** What a user sees of a machine that cannot be read: one line, exit code 2. */
class BadMachineTest extends AnyFunSuite {

  private def refused(machine: String, because: String): Unit = {
    val ran = Child.verb("topology", "--machine", machine)
    assert(ran.exit == 2 && ran.out.isEmpty, ran.err)
    assert(ran.err.linesIterator.size == 1 && ran.err.contains(because), ran.err)
    ()
  }

  private def inDirectory(use: Path => Unit): Unit = Fixture(Map.empty).in(use)

  test("nothing of a capture is left in the temporary directory, be it good or bad") {
    inDirectory { dir =>
      val temporary = Files.createDirectory(dir.resolve("tmp"))
      val whole =
        Machines.twoNodes.in(new Gatherer(_).write(dir.resolve("m.tar.gz"), force = false)).output
      val half = Files.write(dir.resolve("half.tar.gz"), Files.readAllBytes(whole).take(1000))
      for ((file, exit) <- Vector(whole -> 0, half -> 2)) {
        val ran = Child.verbWith(
          Vector(s"-Djava.io.tmpdir=$temporary"),
          Vector("topology", "--machine", file.toString)
        )
        assert(
          ran.exit == exit && temporary.toFile.list.toVector.forall(_.startsWith("hsperf")),
          ran.err
        )
      }
    }
  }

  test("a file that is not what it claims") {
    inDirectory { dir =>
      val text = Files.writeString(dir.resolve("machine.tar.bz2"), "I am no archive")
      refused(text.toString, "is not a complete capture")
      val json = Files.writeString(dir.resolve("machine.json"), """{"schema": "hearth/plan/1"}""")
      refused(json.toString, "is not a topology document")
      val broken = Files.writeString(dir.resolve("broken.json"), """{"schema": """)
      refused(broken.toString, "is not JSON")
      val empty = Files.writeString(dir.resolve("empty.tar.gz"), "")
      refused(empty.toString, "machine '")
      refused("/dev/null", "is neither a file nor a directory")
    }
  }

  test("what lscpu prints, in a file or itself") {
    val lscpu = "Architecture: x86_64\nCPU(s): 4\n"
    inDirectory { dir =>
      val file = Files.writeString(dir.resolve("lscpu.txt"), lscpu).toString
      for (machine <- Seq(file, lscpu))
        refused(machine, "run 'hearth topology --capture FILE' on that machine, or describe it")
    }
  }

  test("a name that is neither a file nor a description") {
    val names = Seq("no/such/box.tar.gz", "big-box", "/tmp/no box 3", "box 2.tgz", "box2.json")
    for (name <- names) {
      refused(name, s"no file or directory is named '$name'")
      assert(!Child.verb("topology", "--machine", name).err.contains("memory-only"), name)
    }
    refused("2 nodes of 64 GB, 8 kernels", "memory-only nodes of SIZE")
  }

  test("arguments that the verbs do not take") {
    for (
      args <- Vector(Vector("topology", "--machin", "x"), Vector("gather"), Vector("nonsense"))
    ) {
      val ran = Child.verb(args: _*)
      assert(ran.exit == 2 && ran.err.linesIterator.size == 1, ran.err)
    }
  }
}
