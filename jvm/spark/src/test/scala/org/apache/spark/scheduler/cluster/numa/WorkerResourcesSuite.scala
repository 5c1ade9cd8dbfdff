package org.apache.spark.scheduler.cluster.numa

import java.nio.file.attribute.PosixFilePermissions.fromString
import java.nio.file.{Files, Path}

import org.apache.spark.resource.ResourceUtils
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.driver.testing.{Places, Temporary}

class WorkerResourcesSuite extends AnyFunSuite with BeforeAndAfterAll {
  private val folder = Files.createTempDirectory("resources")
  private val places = Places.of(4) // two of each of two nodes

  override def afterAll(): Unit = Temporary.delete(folder)

  private def options(javaOptions: String*): Map[Int, Vector[String]] =
    WorkerResources.options(
      javaOptions.toVector,
      places,
      place => folder.resolve(s"${place.id}"),
      address => Some(if (address.toInt < 2) 1 else 0)
    )

  private def gpusOf(options: Vector[String]): Seq[String] = {
    val file = options.last.stripPrefix("-Dspark.worker.resourcesFile=")
    ResourceUtils.parseAllocatedFromJsonFile(file).flatMap(_.addresses)
  }

  private val script: Path = {
    val file = folder.resolve("gpus.sh")
    Files.writeString(
      file,
      "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\", \"2\", \"3\"]}'\n"
    )
    Files.setPosixFilePermissions(file, fromString("rwx------"))
  }
  private val discovery = s"-Dspark.worker.resource.gpu.discoveryScript=$script"

  test("GPUs that the user's script finds are divided among workers, by node, in resources files") {
    val found = options("-Dspark.worker.resource.gpu.amount=1", discovery)
    assert(
      found.view.mapValues(gpusOf).toMap == Map(
        0 -> Seq("2"),
        1 -> Seq("3"),
        2 -> Seq("0"),
        3 -> Seq("1")
      )
    )
  }

  test("started again, a place has one resources file") {
    Vector.fill(2)(options("-Dspark.worker.resource.gpu.amount=1", discovery))
    assert(Files.list(folder.resolve("0")).count == 1)
  }

  test("a resources file of the whole machine is divided as well") {
    val file = folder.resolve("all.json")
    Files.writeString(
      file,
      """[{"id": {"componentName": "spark.worker", "resourceName": "gpu"}, "addresses": ["0", "1", "2", "3"]}]"""
    )
    val found =
      options("-Dspark.worker.resource.gpu.amount=1", s"-Dspark.worker.resourcesFile=$file")
    assert(
      places.map(place => gpusOf(found(place.id))) == Vector(Seq("2"), Seq("3"), Seq("0"), Seq("1"))
    )
  }

  test(
    "workers without custom resources get no file, too few GPUs are refused by the setting's name"
  ) {
    assert(options("-Dspark.shuffle.service.enabled=true").isEmpty)
    val few = intercept[UserError](options("-Dspark.worker.resource.gpu.amount=2", discovery))
    assert(
      few.getMessage.startsWith("spark.worker.resource.gpu.amount: 4 executors of 2 each need 8")
    )
    assert(few.getMessage.contains("fewer executors with --executors"))
    val none = intercept[UserError](options("-Dspark.worker.resource.gpu.amount=1"))
    assert(none.getMessage.startsWith("spark.worker.resource: "))
  }
}
