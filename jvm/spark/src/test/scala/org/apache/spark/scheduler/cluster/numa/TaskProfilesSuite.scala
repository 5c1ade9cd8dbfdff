package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.SparkConf
import org.apache.spark.resource.{ResourceProfile, TaskResourceRequests, TaskResourceProfile}
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.testing.Places

/** How many tasks of a stage run at once, by what each takes. */
class TaskProfilesSuite extends AnyFunSuite {
  private def places(slots: Int*): Seq[ExecutorPlan] =
    slots.zip(Places.of(slots.size)).map { case (n, place) => place.copy(taskSlots = n) }

  private def slots(profile: ResourceProfile, places: Seq[ExecutorPlan], set: (String, String)*) = {
    ResourceProfile.clearDefaultProfile()
    try TaskProfiles.slots(profile, new SparkConf(false).setAll(set), places)
    finally ResourceProfile.clearDefaultProfile()
  }

  private def asking(requests: TaskResourceRequests) = new TaskResourceProfile(requests.requests)
  private def cpus(n: Int) = asking(new TaskResourceRequests().cpus(n))

  test("tasks share no CPU of an executor, and none spans two executors") {
    assert(slots(cpus(1), places(4, 3)) == 7)
    assert(slots(cpus(2), places(4, 3)) == 3)
    assert(slots(cpus(4), places(4, 3)) == 1)
    assert(slots(cpus(1), places()) == 0)
  }

  test("a profile that says nothing of CPUs takes what the application's tasks do") {
    val nothing = asking(new TaskResourceRequests())
    assert(slots(nothing, places(4, 4), "spark.task.cpus" -> "2") == 4)
  }

  test("the scarcest resource decides") {
    val gpus = Seq("spark.executor.resource.gpu.amount" -> "2")
    def gpu(amount: Double) = asking(new TaskResourceRequests().cpus(1).resource("gpu", amount))
    assert(slots(gpu(1), places(8, 8), gpus: _*) == 4)
    assert(slots(gpu(2), places(8, 8), gpus: _*) == 2)
    assert(slots(gpu(0.5), places(8, 8), gpus: _*) == 8)
    assert(slots(gpu(1), places(1, 1), gpus: _*) == 2)
    assert(slots(gpu(1), places(8, 8)) == 0)
  }
}
