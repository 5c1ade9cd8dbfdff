package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

class LossHistorySuite extends AnyFunSuite {
  import LossLimit._

  private def after(history: LossHistory, losses: Range) =
    losses.foldLeft(history)((h, n) => h.lost(s"$n", n * 1000L))

  test("ten in a row end the application, as on a standalone cluster") {
    val history = LossHistory(InARow(10), None)
    assert(after(history, 1 to 9).exhausted(Set.empty).isEmpty)
    assert(
      after(history, 1 to 10)
        .exhausted(Set("11"))
        .contains(
          "10 executors were lost in a row and no task was finished in between; " +
            "spark.deploy.maxExecutorRetries is 10"
        )
    )
  }

  test("a task finished in between starts the count anew, however many are lost in all") {
    val last = (1 to 50).foldLeft(LossHistory(InARow(10), None)) { (h, n) =>
      val lost = h.lost(s"$n", n.toLong)
      assert(lost.exhausted(Set.empty).isEmpty)
      if (n % 9 == 0) lost.finishedTask(s"$n") else lost
    }
    assert(last.losses.size < 10)
  }

  test("while an executor that finished a task still runs, the application goes on") {
    val history = after(LossHistory(InARow(10), None).finishedTask("0"), 1 to 30)
    assert(history.exhausted(running = Set("0", "31")).isEmpty)
    assert(history.exhausted(running = Set("31")).nonEmpty)
    assert(history.lost("0", 40000).exhausted(running = Set("0")).nonEmpty)
  }

  test("a task reported after its executor was lost does not make it one at work") {
    val history = after(LossHistory(InARow(10), None).lost("0", 0).finishedTask("0"), 1 to 10)
    assert(history.exhausted(running = Set("11")).nonEmpty)
  }

  test("a negative number of retries is no limit") {
    assert(after(LossHistory(InARow(-1), None), 1 to 500).exhausted(Set.empty).isEmpty)
  }

  test("spark.executor.maxNumFailures counts all, with tasks in between and others at work") {
    val history = after(LossHistory(InAll(3), None).finishedTask("0"), 1 to 3)
    assert(history.exhausted(Set("0")).isEmpty)
    assert(
      history
        .finishedTask("0")
        .lost("4", 4000)
        .exhausted(Set("0"))
        .contains(
          "4 executors were lost, more than the 3 allowed by spark.executor.maxNumFailures"
        )
    )
  }

  test("spark.executor.failuresValidityInterval lets losses be forgotten under either limit") {
    for (limit <- Seq(InARow(4), InAll(3))) {
      def history(validMs: Long) = after(LossHistory(limit, Some(validMs)), 1 to 20)
      assert(history(2500).exhausted(Set.empty).isEmpty)
      assert(history(3000).exhausted(Set.empty).nonEmpty)
    }
  }
}
