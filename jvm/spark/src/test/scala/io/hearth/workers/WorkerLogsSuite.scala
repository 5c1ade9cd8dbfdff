package io.hearth.workers

import java.nio.file.StandardOpenOption.{APPEND, CREATE}
import java.nio.file.{Files, Path}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.testing.Temporary

class WorkerLogsSuite extends AnyFunSuite with BeforeAndAfterAll {
  private val root = Files.createTempDirectory("logs")
  private def folder(): Path = Files.createTempDirectory(root, "worker")

  override def afterAll(): Unit = Temporary.delete(root)

  test("a worker's log that is too long is set aside while the worker goes on writing it") {
    val place = folder()
    val log = place.resolve("stderr")
    val worker = Files.newOutputStream(log, CREATE, APPEND)
    worker.write("long, long ago\n".getBytes)
    new WorkerLogs(limitBytes = 10).roll(place)
    worker.write("now\n".getBytes)
    worker.close()
    assert(Files.readString(log) == "now\n")
    assert(Files.readString(place.resolve("stderr.1")) == "long, long ago\n")
    new WorkerLogs(limitBytes = 10).roll(place)
    assert(Files.readString(log) == "now\n")
  }

  test("five logs of the workers before are kept") {
    val place = folder()
    (1 to 7).foreach { worker =>
      Files.writeString(place.resolve("stdout"), s"$worker")
      new WorkerLogs(WorkerLogs.LimitBytes).setAside(place)
    }
    val kept = (1 to 5).map(n => Files.readString(place.resolve(s"stdout.$n")))
    assert(kept == Vector("7", "6", "5", "4", "3"))
    assert(!Files.exists(place.resolve("stdout")) && !Files.exists(place.resolve("stdout.6")))
  }
}
