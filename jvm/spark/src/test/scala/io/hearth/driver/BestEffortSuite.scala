package io.hearth.driver

import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.driver.testing.Temporary

/** What hearth keeps for itself may be damaged, or the disk full: the application goes on. */
class BestEffortSuite extends AnyFunSuite {

  test("many things that cannot be kept are one warning with the reason, and none is thrown") {
    Temporary.directory { root =>
      val warnings = ArrayBuffer.empty[String]
      val bestEffort = new BestEffort("Not all is kept", warnings += _)
      val file = Files.writeString(root.resolve("file"), "")
      assert(bestEffort.attempt(RunDirectory.create(file, "app")).isEmpty)
      assert(bestEffort.attempt(new RunDirectory(file).writeRun(Json.obj())).isEmpty)
      assert(bestEffort.attempt(Path.of("a\u0000b")).isEmpty)
      assert(bestEffort.attempt(1).contains(1))
      assert(warnings.size == 1 && warnings.head.startsWith("Not all is kept: "), warnings)
      assert(warnings.head.contains(file.toString), warnings)
    }
  }

  test("a document that cannot be written leaves the one before") {
    Temporary.directory { root =>
      val run = RunDirectory.create(root, "app")
      run.writeRun(Json.obj().put("state", "running"))
      Files.createDirectories(run.path.resolve(".run.json.partial/in-the-way"))
      intercept[java.io.IOException](run.writeRun(Json.obj().put("state", "finished")))
      assert(Files.readString(run.run).contains("running"))
    }
  }

  test("a reaper that is gone is one warning and no more") {
    val process = Reaper.start()
    process.destroyForcibly().waitFor()
    val warnings = ArrayBuffer.empty[String]
    val reaper = new Reaper(new BestEffort("Directories stay", warnings += _), () => process)
    reaper.open()
    for (_ <- 1 to 5) reaper.removeLater(Path.of("/nowhere/hearth-x"))
    reaper.close()
    assert(warnings.size == 1 && warnings.head.contains("is gone"), warnings)
  }

  test("what an executor published and nobody can read is as if it had published nothing") {
    Temporary.directory { root =>
      val registry = new LocalDirsRegistry(root)
      for ((id, bytes) <- Vector("1" -> Array[Byte](-1, -2), "2" -> Array.emptyByteArray)) {
        Files.createDirectory(root.resolve(id))
        Files.write(root.resolve(id).resolve("local-dirs"), bytes)
        assert(registry.dirsOf(id).isEmpty)
      }
      Files.createDirectories(root.resolve("3").resolve("local-dirs"))
      assert(registry.dirsOf("3").isEmpty)
      registry.publish("1", Seq("/a"))
      assert(registry.dirsOf("1").map(_.toSeq).contains(Seq("/a")))
    }
  }

  private val wrong = Vector("", "null", "[]", "{}", "\"x\"", "1", "{", "[" * 100000) ++
    Vector("""{"state": "running"}""", """{"state": "running", "started_at": 5}""") ++
    Vector("""{"state": 1, "started_at": []}""", """{"state": {}, "started_at": "2026"}""")

  private val shapes =
    Vector("[]", "{}", "\"x\"", "-1", "1e300", "null", "true", "[[\"/\"]]", "[1, {}]") ++
      Vector("[\"/\", \"\", \"hearth-\", \"a\\u0000b\", \"..\"]", "\"" + "x" * 10000 + "\"")

  test(
    "records of any shape beside good ones: the good are swept, the others left, nothing is thrown"
  ) {
    val random = new Random(4)
    Temporary.directory { root =>
      val outside = Files.createDirectory(root.resolve("precious"))
      val runs = root.resolve("runs")
      def put(id: String, text: String) = {
        val dir = Files.createDirectories(runs.resolve(id))
        Files.writeString(dir.resolve("run.json"), text)
      }
      wrong.zipWithIndex.foreach { case (text, i) => put(s"wrong$i", text) }
      val fields =
        Vector("state", "started_at", "scratch", "driver_pid", "driver_start_ticks", "machine")
      for (round <- 0 until 300) {
        val base =
          Map("state" -> "\"running\"", "started_at" -> "\"1\"", "scratch" -> s"""["$outside"]""")
        val changed = base.updated(fields(random.nextInt(6)), shapes(random.nextInt(shapes.size)))
        val text = changed.map { case (k, v) => s""""$k": $v""" }.mkString("{", ", ", "}")
        put(
          s"odd$round",
          if (random.nextInt(4) == 0) text.take(random.nextInt(text.length)) else text
        )
      }
      Files.createDirectories(runs.resolve("fifo"))
      new ProcessBuilder("mkfifo", runs.resolve("fifo/run.json").toString).start().waitFor()
      Files.createSymbolicLink(runs.resolve("link"), outside)
      put("good", """{"state": "finished", "started_at": "2"}""")
      RunSweep.sweep(runs, max = 0, Temporary.delete)
      assert(!Files.exists(runs.resolve("good")))
      assert(Files.exists(outside))
      wrong.indices.take(9).foreach(i => assert(Files.exists(runs.resolve(s"wrong$i")), i))
    }
  }

  test("a run that cannot be deleted is a sentence, and the others go") {
    Temporary.directory { runs =>
      for (id <- Vector("a", "b"))
        RunDirectory
          .create(runs, id)
          .writeRun(Json.obj().put("state", "finished").put("started_at", id))
      def refuse(path: Path): Unit =
        if (path.endsWith("a")) throw new java.io.IOException("not today")
        else Temporary.delete(path)
      val said = RunSweep.sweep(runs, max = 0, refuse)
      assert(said.head == "cannot remove the record of a: not today")
      assert(Files.exists(runs.resolve("a")) && !Files.exists(runs.resolve("b")))
    }
  }
}
