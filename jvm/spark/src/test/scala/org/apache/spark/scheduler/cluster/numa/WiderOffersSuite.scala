package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.scheduler.WorkerOffer

import org.scalatest.funsuite.AnyFunSuite

/** What Spark's scheduler is offered of an executor whose stage is wider or narrower than planned. */
class WiderOffersSuite extends AnyFunSuite {
  private def offer(slots: Int) = WorkerOffer("7", "host", slots, Some("address:1"))

  test("further slots come on top of the free ones, and the rest of the offer is as it was") {
    val own = offer(1)
    assert(LocalNumaScheduler.widened(own, 3) == own.copy(cores = 4))
  }

  test("an executor that runs more tasks than it may by now has no slot free") {
    assert(LocalNumaScheduler.widened(offer(-2), 0).cores == 0)
    assert(LocalNumaScheduler.widened(offer(-2), 3).cores == 1)
  }

  test("an offer that is as wide as it was is passed on itself") {
    val own = offer(2)
    assert(LocalNumaScheduler.widened(own, 0) eq own)
  }
}
