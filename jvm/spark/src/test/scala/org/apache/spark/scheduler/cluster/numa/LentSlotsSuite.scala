package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.scheduler.WorkerOffer

import org.scalatest.funsuite.AnyFunSuite

/** What Spark's scheduler is offered of an executor that has CPUs of another application, or had. */
class LentSlotsSuite extends AnyFunSuite {
  private def offer(slots: Int) = WorkerOffer("7", "host", slots, Some("address:1"))

  test("lent slots come on top of the free ones, and the rest of the offer is as it was") {
    val own = offer(1)
    assert(LocalNumaScheduler.widened(own, 3) == own.copy(cores = 4))
  }

  test("an executor that runs more tasks than it has slots, as after a loan, has none free") {
    assert(LocalNumaScheduler.widened(offer(-2), 0).cores == 0)
    assert(LocalNumaScheduler.widened(offer(-2), 3).cores == 1)
  }

  test("where nothing is ever lent the offers are passed on themselves, whatever is free") {
    val offers = Vector(offer(2), offer(-1))
    assert(LocalNumaScheduler.widened(offers, None) eq offers)
    val lent = LocalNumaScheduler.widened(offers, Some(Map("7" -> 1)))
    assert(lent.map(_.cores) == Vector[BigDecimal](3, 0))
  }

  test("without a loan an offer is passed on itself") {
    val own = offer(2)
    assert(LocalNumaScheduler.widened(own, 0) eq own)
  }
}
