package io.hearth.sql

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.sql.NativeOperators.{ran, Ran}

class NativeOperatorsSuite extends AnyFunSuite {
  private val described =
    """== Physical Plan ==
      |== Extended Information (Comet) ==
      | HashAggregate [COMET: no buffer of Spark's]
      |+- Exchange
      |   +-  BatchEvalPython [COMET: BatchEvalPython is not supported]
      |      +- CometNativeScan parquet
      |
      |Comet accelerated 1 out of 6 eligible operators (16%). Final plan contains 1 transitions.
      |""".stripMargin

  test("what Comet says of plans is added up, with why it left operators to Spark") {
    val all = ran(described).map(_ + Ran(12, 12, Map.empty))
    val left = "BatchEvalPython (BatchEvalPython is not supported), HashAggregate (no buffer of Spark's)"
    assert(all.flatMap(_.sentence).contains(s"Comet ran 13 of 18 SQL operators; not $left"))
  }

  test("only three operators are named, and a run without a query that Comet explains says nothing") {
    val left = Vector("A", "B", "C", "D", "E").map(_ -> "no").toMap
    val said = Ran(1, 6, left).sentence.get
    assert(said.endsWith("; not A (no), B (no), C (no) and 2 more"))
    assert(ran("== Physical Plan ==\nExecute CreateViewCommand\n").isEmpty)
    assert(Ran(0, 0, Map.empty).sentence.isEmpty)
  }
}
