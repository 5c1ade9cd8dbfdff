package io.hearth.sql

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.sql.NativeOperators.{ran, Ran}

class NativeOperatorsSuite extends AnyFunSuite {
  test("what Comet says of plans is added up, with why it left operators to Spark") {
    val described =
      """ HashAggregate [COMET: no buffer of Spark's]
        |+-  BatchEvalPython [COMET: not supported]
        |Comet accelerated 1 out of 6 eligible operators (16%). Final plan.
        |""".stripMargin
    val left = "BatchEvalPython (not supported), HashAggregate (no buffer of Spark's)"
    val all = ran(described).map(_ + Ran(12, 12, Map.empty))
    assert(all.flatMap(_.sentence).contains(s"Comet ran 13 of 18 SQL operators; not $left"))
    assert(ran("== Physical Plan ==\n").isEmpty && Ran(0, 0, Map.empty).sentence.isEmpty)
  }
}
