package org.apache.spark.scheduler.cluster.numa

import java.nio.file.attribute.PosixFilePermissions.fromString
import java.nio.file.{Files, Path}

import org.apache.spark.SparkConf
import org.apache.spark.resource.ResourceUtils
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{GpuNodes, SysTree}
import io.hearth.driver.testing.{Places, Temporary}

class ExecutorResourcesSuite extends AnyFunSuite with BeforeAndAfterAll {
  private val folder = Files.createTempDirectory("resources")
  private val places = Places.of(2)

  override def afterAll(): Unit = Temporary.delete(folder)

  private def opened(contained: Boolean, gpus: String*): ExecutorResources = {
    val script = folder.resolve("gpus.sh")
    val addresses = gpus.map(gpu => s""""$gpu"""").mkString(", ")
    Files.writeString(
      script,
      s"""#!/bin/sh\necho '{"name": "gpu", "addresses": [$addresses]}'\n"""
    )
    Files.setPosixFilePermissions(script, fromString("rwx------"))
    val conf = new SparkConf(false)
      .set("spark.executor.resource.gpu.amount", "2")
      .set("spark.executor.resource.gpu.discoveryScript", s"$script")
    val resources =
      new ExecutorResources(conf, places, new GpuNodes(new SysTree(folder)), contained)
    resources.open()
    resources
  }

  /** Of the second place: what Docker is told, and what the executor's tasks are told. */
  private def second(contained: Boolean, gpus: String*): (Seq[String], Seq[String]) = {
    val resources = opened(contained, gpus: _*)
    val place = places(1)
    val file: Path = resources.writeFile(place, Files.createTempDirectory(folder, "work")).get
    val told = ResourceUtils.parseAllocatedFromJsonFile(s"$file").flatMap(_.addresses)
    (resources.gpus(place), told)
  }

  test("a task in a process is told the machine's numbers of its GPUs") {
    assert(second(contained = false, "0", "1", "2", "3")._2 == Seq("2", "3"))
  }

  test("a task in a container is told the container's numbers, which begin at 0") {
    assert(second(contained = true, "0", "1", "2", "3") == ((Seq("2", "3"), Seq("0", "1"))))
  }

  test("UUIDs are the same in a container") {
    val found = second(contained = true, "GPU-a", "GPU-b", "GPU-c", "GPU-d")
    assert(found == ((Seq("GPU-c", "GPU-d"), Seq("GPU-c", "GPU-d"))))
  }
}
