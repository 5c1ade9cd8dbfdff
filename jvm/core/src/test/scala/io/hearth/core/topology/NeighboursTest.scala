package io.hearth.core.topology

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Temporary

/** What the kernel shows of other applications' executors, over trees that look like /proc. */
class NeighboursTest extends AnyFunSuite {

  /** A tree with process 1 and these: id, words of the command line, `Cpus_allowed_list`. */
  private def withProc(processes: (Int, Seq[String], String)*)(check: Path => Unit): Unit =
    Temporary.directory { root =>
      val proc = Files.createDirectory(root.resolve("proc"))
      ((1, Seq("/sbin/init"), "0-7") +: processes).foreach { case (pid, words, cpus) =>
        val dir = Files.createDirectory(proc.resolve(s"$pid"))
        Files.writeString(dir.resolve("cmdline"), words.map(_ + "\u0000").mkString)
        Files.writeString(dir.resolve("status"), s"Name:\tx\nCpus_allowed_list:\t$cpus\n")
      }
      check(proc)
    }

  private def java(app: String) = Seq("/usr/bin/java", Neighbours.mark(app), "-Xmx1g", "-cp", "x")

  test("bound executors are known by the first option of their JVM, with CPUs as the kernel says") {
    withProc(
      (20, java("app-2"), "4-5"),
      (10, java("app-1"), "0-1"),
      (30, Seq("/usr/bin/java", "-Xmx1g", Neighbours.mark("app-3")), "6"),
      (31, Seq("docker", "run", "java", Neighbours.mark("app-1")), "0-7"),
      (32, Seq("setsid", "java", Neighbours.mark("app-1")), "0-7"),
      (33, Seq.empty, "0-7")
    ) { proc =>
      val found = Neighbours.running(proc.getParent)
      assert(found.executors.map(e => (e.pid, e.appId)) == Vector(10L -> "app-1", 20L -> "app-2"))
      assert(found.cpus.toString == "0-1,4-5" && found.hidden.isEmpty)
      assert(found.executors.map(_.user).forall(_ == System.getProperty("user.name")))
    }
  }

  test("what somebody forged crashes nothing and writes nothing to a terminal") {
    withProc(
      (2, java("a\u001b[2Jb" + "c" * 100000), "3"),
      (3, java(""), "none"),
      (4, Seq("java", Neighbours.mark("")), "7"),
      (5, Seq("x" * 100000), "7"),
      (6, java("ends meanwhile"), "0")
    ) { proc =>
      Files.delete(proc.resolve("6/status"))
      Files.createSymbolicLink(proc.resolve("7"), Path.of("7"))
      Files.createDirectory(proc.resolve("99999999999999999999"))
      val found = Neighbours.running(proc.getParent)
      assert(found.cpus.toString == "3,7")
      assert(found.executors.head.appId == "a?[2Jb" + "c" * 54 && found.executors(1).appId == "?")
      assert(found.who.length < 200 && !found.who.exists(_ < ' '))
      Files.delete(proc.resolve("7"))
    }
  }

  test("of many applications a few are named") {
    withProc((2 to 40).map(pid => (pid, java(s"app-$pid"), s"$pid")): _*) { proc =>
      assert(Neighbours.running(proc.getParent).who.endsWith(", 36 more applications"))
    }
  }

  test("where processes of others are hidden, that is said") {
    withProc((7, java("mine"), "0")) { proc =>
      Files.delete(proc.resolve("1/cmdline"))
      val found = Neighbours.running(proc.getParent)
      assert(found.cpus == IdSet(0) && found.hidden.exists(_.contains("hidepid")))
    }
  }

  test(
    "memory of a node that a process can have is what is free or caches files, not shared memory"
  ) {
    Temporary.directory { root =>
      val node = Files.createDirectories(root.resolve("sys/devices/system/node/node1"))
      Files.createDirectories(root.resolve("proc"))
      Files.writeString(
        node.resolve("meminfo"),
        Vector(
          "MemTotal" -> 9000,
          "MemFree" -> 100,
          "FilePages" -> 50,
          "Shmem" -> 20,
          "SReclaimable" -> 7
        ).map { case (name, kb) => s"Node 1 $name:    $kb kB\n" }.mkString
      )
      assert(Neighbours.running(root).availableOn == Map(1 -> 137L * 1024))
    }
  }
}
