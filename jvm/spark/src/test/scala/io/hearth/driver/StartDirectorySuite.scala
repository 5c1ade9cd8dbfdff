package io.hearth.driver

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.testing.{Heard, Temporary}

class StartDirectorySuite extends AnyFunSuite {
  private val own = Path.of("/scratch/0/work")

  /** @return where executors start, and what was said of it */
  private def start(
      directory: Path,
      python: Option[String] = None,
      seen: Boolean = true
  ): (Path, Vector[String]) = {
    val log = new Heard
    val of = new StartDirectory(directory, python, _ => seen, log)
    of(own)
    (of(own), log.of("warn"))
  }

  test("executors start where their driver did, and nothing is said of it") {
    Temporary.directory { directory =>
      assert(start(directory) == ((directory, Vector.empty)))
      assert(start(directory, Some("python3")) == ((directory, Vector.empty)))
      assert(start(directory, Some("/usr/bin/python3")) == ((directory, Vector.empty)))
    }
  }

  test("a Python of an archive that the application sends is found in their own directories") {
    Temporary.directory { directory =>
      val (where, said) = start(directory, Some("./environment/bin/python"))
      assert(where == own && said.size == 1)
      assert(said.head.contains("'./environment/bin/python', which is to run Python workers"))
      val there = Files.createDirectories(directory.resolve("environment/bin"))
      Files.writeString(there.resolve("python"), "")
      assert(start(directory, Some("./environment/bin/python"))._1 == directory)
    }
  }

  test("a directory that is gone, or that no container sees, is named once with what to do") {
    Temporary.directory { directory =>
      val (gone, said) = start(directory.resolve("gone"))
      assert(
        gone == own && said.size == 1 && said.head.contains("gone), because it cannot be entered")
      )
      val (unseen, remedy) = start(directory, seen = false)
      assert(unseen == own && remedy.size == 1)
      assert(remedy.head.contains(s"spark.hearth.docker.mounts=$directory:rw"))
    }
  }
}
