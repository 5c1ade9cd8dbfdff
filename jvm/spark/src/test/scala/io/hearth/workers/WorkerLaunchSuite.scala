package io.hearth.workers

import java.nio.file.Path

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.launch.LaunchSpec
import io.hearth.core.plan.{ExecutorPlan, Limits, PlanRequest, Workload}
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.Places

class WorkerLaunchSuite extends AnyFunSuite {

  private val request = WorkersRequest(
    "big1",
    "spark://big1:7077",
    Path.of("/state"),
    PlanRequest(None, Workload.unknown, Limits.none, IdSet.empty, None, withTopology = false),
    "java",
    Vector("jars/*"),
    1024,
    Vector("-Dspark.shuffle.service.enabled=true"),
    Vector.empty
  )

  private def launched(
      places: Vector[ExecutorPlan],
      environment: Map[String, String] = Map.empty,
      resources: Map[Int, Vector[String]] = Map.empty
  ): Vector[LaunchSpec] = {
    val launch = new WorkerLaunch(request, "set", Some("/a,/b"), environment, 0, resources)
    places.map(place => launch.compose(place, Some(place.binding)))
  }

  test("one worker of a machine runs the user's shuffle service, and keeps whom it serves") {
    val last = launched(Places.of(3)).map(_.javaOptions.last)
    val off = "-Dspark.shuffle.service.enabled=false"
    assert(last == Vector("-Dspark.local.dir=/a,/b", off, off))
  }

  test("executors count their place's CPUs, by the environment; the user's options come behind") {
    val sizes = Vector("-XX:ParallelGCThreads=5", "-XX:ActiveProcessorCount=6")
    val place = Places.of(1).map(_.copy(javaOptions = "-XX:+UseParallelGC" +: sizes))
    val users = Map("JDK_JAVA_OPTIONS" -> "-XX:ParallelGCThreads=2")
    val key = "JDK_JAVA_OPTIONS"
    assert(launched(place).head.environment(key) == sizes.mkString(" "))
    val both = launched(place, users).head.environment(key)
    assert(both == s"${sizes.mkString(" ")} -XX:ParallelGCThreads=2")
    assert(!launched(Places.of(1), users).head.environment.contains(key))
  }

  test("each worker is told of its own share of custom resources, behind the user's options") {
    val own = Map(
      0 -> Vector("-Dspark.worker.resourcesFile=/0"),
      1 -> Vector("-Dspark.worker.resourcesFile=/1")
    )
    assert(
      launched(Places.of(2), resources = own).map(_.javaOptions.last) == Vector(
        own(0).head,
        own(1).head
      )
    )
  }
}
