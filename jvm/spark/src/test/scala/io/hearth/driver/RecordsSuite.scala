package io.hearth.driver

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.leases.DirectoryUse
import io.hearth.core.placement.PlacementReport
import io.hearth.driver.testing.Temporary

class RecordsSuite extends AnyFunSuite {

  private def opened(): Reaper = {
    val reaper = new Reaper(new BestEffort("The reaper", fail(_)))
    reaper.open()
    reaper
  }

  private def writeRun(
      root: Path,
      id: String,
      state: String,
      pid: Long,
      ticks: Long,
      scratch: Path
  ): Unit = {
    val run = Json.obj().put("state", state).put("started_at", id).put("driver_pid", pid)
    run.put("driver_start_ticks", ticks).putArray("scratch").add(scratch.toString)
    RunDirectory.create(root, id).writeRun(run)
  }

  private def state(root: Path, id: String): String =
    Json.parse(Files.readString(root.resolve(id).resolve("run.json")), id).path("state").asText

  test("what a killed driver and its killed reaper left behind is swept; a living driver's is not") {
    Temporary.directory { root =>
      val mine = ProcessHandle.current.pid
      val ticks = PlacementReport.startTicks(Path.of("/proc"), mine).get
      val left = Files.createDirectory(root.resolve("hearth-left"))
      val used = Files.createDirectory(root.resolve("hearth-used"))
      val runs = root.resolve("runs")
      writeRun(runs, "dead", "running", mine, ticks - 1, left)
      writeRun(runs, "alive", "running", mine, ticks, used)
      val said = RunSweep.sweep(runs, max = 10, Temporary.delete)
      assert(!Files.exists(left) && Files.exists(used))
      assert(state(runs, "dead") == "abandoned" && state(runs, "alive") == "running")
      assert(said == Vector(s"removed $left, left behind by dead, whose driver was killed"))
    }
  }

  test("what hearth submit has made for this process becomes the application's directory, once") {
    Temporary.directory { root =>
      val made = Files.createDirectory(root.resolve("submit-7-8"))
      Files.writeString(made.resolve("submit.json"), "{}")
      assert(RunDirectory.submitted(root, 7, 9).isEmpty, "another process of this id")
      val run = RunDirectory.create(root, "app-1", RunDirectory.submitted(root, 7, 8))
      assert(Files.exists(run.path.resolve("submit.json")) && run.path == root.resolve("app-1"))
      assert(RunDirectory.submitted(root, 7, 8).isEmpty, "a second SparkContext makes its own")
    }
  }

  test("the work of an application is its tasks' added up, with the executors that were killed") {
    val so = new WorkSoFar
    so.add(_.ended(success = true, 1500, 100))
    so.add(_.ended(success = false, 500, 50))
    so.add(_.lost("1", s"Lost: ${ExitStatus.explain(137)}"))
    so.add(_.lost("2", ExitStatus.explain(1)))
    so.close()
    assert(so.atItsEnd() == Work(2, 1, 2000, 150, Vector("1")))
    val kept = so.now.toJson(Some(512))
    assert(kept.path("gc_seconds").asDouble == 0.15 && kept.path("driver_peak_mb").asLong == 512)
  }

  test("what another application of the same id uses by now is neither swept nor reaped") {
    Temporary.directory { root =>
      val used = Files.createDirectory(root.resolve("hearth-used"))
      val left = Files.createDirectory(root.resolve("hearth-left"))
      val other = DirectoryUse.take(used).fold(fail(_), identity)
      val runs = root.resolve("runs")
      writeRun(runs, "dead", "running", 1, -1, used)
      val said = RunSweep.sweep(runs, max = 10, Temporary.delete)
      assert(said.sizeIs == 1 && said.head.startsWith(s"$used stays: process "))
      val reaper = opened()
      Vector(used, left).foreach(reaper.removeLater)
      reaper.ownerGone()
      for (_ <- 1 to 1200 if Files.exists(left)) Thread.sleep(50)
      assert(Files.exists(used) && !Files.exists(left))
      other.close()
    }
  }

  test("the driver's own temporary directories, which Spark named, are swept too") {
    Temporary.directory { root =>
      val unique = "0b9f3a52-77c4-4ab5-9f1e-5d1a6c0f2e11"
      val left =
        Seq("spark", "blockmgr").map(name => Files.createDirectory(root.resolve(s"$name-$unique")))
      val runs = root.resolve("runs")
      left.foreach(dir => writeRun(runs, dir.getFileName.toString, "running", 1, -1, dir))
      RunSweep.sweep(runs, max = 10, Temporary.delete)
      assert(!left.exists(Files.exists(_)))
    }
  }

  test(
    "a driver that another PID namespace hides, under this machine's name, is not taken for dead"
  ) {
    Temporary.directory { root =>
      val used = Files.createDirectory(root.resolve("hearth-used"))
      writeRun(root, "hidden", "running", 1, -1, used)
      val file = root.resolve("hidden").resolve("run.json")
      val run = Json.parse(Files.readString(file), "hidden").asInstanceOf[ObjectNode]
      Files.writeString(file, Json.pretty(run.put("pid_namespace", "pid:[1]")))
      assert(RunSweep.sweep(root, max = 10, Temporary.delete).isEmpty && Files.exists(used))
      Files.writeString(file, Json.pretty(run.put("pid_namespace", RunRecord.pidNamespace.get)))
      assert(RunSweep.sweep(root, max = 10, Temporary.delete).nonEmpty && !Files.exists(used))
    }
  }

  test(
    "a run of another machine that shares the home directory is none of this machine's business"
  ) {
    Temporary.directory { root =>
      val used = Files.createDirectory(root.resolve("hearth-used"))
      writeRun(root, "elsewhere", "running", 1, -1, used)
      val file = root.resolve("elsewhere").resolve("run.json")
      val run = Json.parse(Files.readString(file), "run").deepCopy[ObjectNode]()
      Files.writeString(file, Json.pretty(run.put("machine", "another-machine")))
      RunSweep.sweep(root, max = 10, Temporary.delete)
      assert(Files.exists(used) && state(root, "elsewhere") == "running")
    }
  }

  test("a record that names a directory of somebody else's does not get it removed") {
    Temporary.directory { root =>
      val other = Files.createDirectory(root.resolve("precious"))
      val runs = root.resolve("runs")
      writeRun(runs, "dead", "running", 1, -1, other)
      RunSweep.sweep(runs, max = 10, Temporary.delete)
      assert(Files.exists(other))
    }
  }

  test("the newest ended runs are kept, older ones go") {
    Temporary.directory { root =>
      for (id <- Seq("1", "2", "3")) writeRun(root, id, "finished", 1, 1, root.resolve("hearth-x"))
      RunSweep.sweep(root, max = 2, Temporary.delete)
      assert(Files.list(root).iterator.asScala.map(_.getFileName.toString).toSet == Set("2", "3"))
    }
  }

  test("a log's last words are its end, from the beginning of a line") {
    Temporary.directory { root =>
      val log = Files.write(root.resolve("stderr"), (1 to 500).map(n => s"line $n").asJava)
      val words = ExitStatus.lastWords(log, 40)
      assert(words.startsWith("line 4") && words.endsWith("line 500"))
      assert(ExitStatus.end(log, 40) == words)
      assert(ExitStatus.lastWords(root.resolve("none")) == "")
    }
  }

  test("last words are messages: a long stack trace does not hide the error above it") {
    Temporary.directory { root =>
      val frames = (1 to 100).map(n => s"\tat some.where.deep.Inside.of$n(Inside.scala:$n)")
      val lines = Seq("java.io.IOException: No space left on device") ++ frames :+ "\t... 3 more"
      val words = ExitStatus.lastWords(Files.write(root.resolve("stderr"), lines.asJava))
      assert(words == lines.head)
      assert(ExitStatus.remedy(words).exists(_.contains("spark.local.dir")))
      assert(ExitStatus.remedy("all is well").isEmpty)
    }
  }

  test(
    "the reaper ends a process and removes a directory when its owner's pipe closes, and only then"
  ) {
    Temporary.directory { root =>
      val scratch = Files.createDirectory(root.resolve("scratch with blanks"))
      val record = Files.writeString(root.resolve("run.json"), """{ "state" : "running" }""")
      val victim = new ProcessBuilder("sleep", "60").start()
      val other = new ProcessBuilder("sleep", "60").start()
      def ticks(p: Process) = PlacementReport.startTicks(Path.of("/proc"), p.pid).get
      val reaper = opened()
      reaper.watch(victim.pid, ticks(victim))
      reaper.watch(other.pid, ticks(other) - 1)
      reaper.removeLater(scratch)
      reaper.markAbandoned(record)
      Thread.sleep(300)
      assert(victim.isAlive && Files.exists(scratch))
      reaper.ownerGone()
      assert(victim.waitFor() == 137)
      for (
        _ <- 1 to 1200 if Files.exists(scratch) || !Files.readString(record).contains("abandoned")
      )
        Thread.sleep(50)
      assert(!Files.exists(scratch))
      assert(Files.readString(record).contains(""""state" : "abandoned""""))
      assert(other.isAlive, "a process that has come to a watched id later is left alone")
      other.destroyForcibly()
    }
  }

  test(
    "what a container that was being started puts into a removed directory goes with its client"
  ) {
    Temporary.directory { root =>
      val scratch = Files.createDirectory(root.resolve("scratch"))
      // As an engine does: it makes a mount point after the reaper has removed what was there.
      val engine =
        "while [ -d \"$0\" ]; do sleep 0.1; done; mkdir -p \"$0\"/1/tmp; : >\"$0\".made; sleep 1"
      val client = new ProcessBuilder("sh", "-c", engine, scratch.toString).start()
      val reaper = opened()
      val ticks = PlacementReport.startTicks(Path.of("/proc"), client.pid).get
      reaper.watchClient(client.pid, ticks, "hearth-of-no-engine")
      reaper.removeLater(scratch)
      reaper.ownerGone()
      assert(client.waitFor() == 0)
      for (_ <- 1 to 1200 if Files.exists(scratch)) Thread.sleep(50)
      assert(!Files.exists(scratch))
      assert(Files.exists(root.resolve("scratch.made")))
    }
  }

  test("a reaper that is told to quit removes nothing") {
    Temporary.directory { root =>
      val scratch = Files.createDirectory(root.resolve("scratch"))
      val reaper = opened()
      reaper.removeLater(scratch)
      reaper.close()
      Thread.sleep(300)
      assert(Files.exists(scratch))
    }
  }
}
