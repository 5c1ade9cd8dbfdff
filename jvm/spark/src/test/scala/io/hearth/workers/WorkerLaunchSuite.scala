package io.hearth.workers

import java.nio.file.Path

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.{Limits, PlanRequest, Workload}
import io.hearth.core.topology.IdSet
import io.hearth.spark.Held
import io.hearth.spark.testing.Places

class WorkerLaunchSuite extends AnyFunSuite {

  test("one worker of a machine runs the user's shuffle service, and keeps whom it serves") {
    val request = WorkersRequest(
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
    val launch = new WorkerLaunch(request, "set", Some("/a,/b"), shuffleServiceIn = 0)
    val last =
      Places.of(3).map(launch.compose(_, Held(cpus = true, memory = true)).javaOptions.last)
    val off = "-Dspark.shuffle.service.enabled=false"
    assert(last == Vector("-Dspark.local.dir=/a,/b", off, off))
  }
}
