package io.hearth.spark

import org.scalatest.funsuite.AnyFunSuite

/** How long a place stays free whose processes do not live. */
class RestartPauseSuite extends AnyFunSuite {

  test("ten short lives are followed at once, later ones after pauses that double up to a minute") {
    val pauses = Vector.iterate(RestartPause(), 20)(_.afterLife(59999)).tail.map(_.ms / 1000)
    assert(pauses == Vector.fill(10)(0) ++ Vector(1, 2, 4, 8, 16, 32, 60, 60, 60))
  }

  test("what cannot be started is tried again after pauses that double from the first on") {
    val pauses = Vector.iterate(RestartPause(), 9)(_.afterFailedStart).tail.map(_.ms / 1000)
    assert(pauses == Vector(1, 2, 4, 8, 16, 32, 60, 60))
  }

  test("a life of a minute makes good what was before") {
    val worn = Vector.iterate(RestartPause(), 9)(_.afterFailedStart).last
    assert(worn.afterLife(60000) == RestartPause())
  }
}
