package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

/** How long a place stays free whose processes do not live. */
class RestartPauseSuite extends AnyFunSuite {

  private def pauses(atOnce: Int, restarts: Int)(next: RestartPause => RestartPause) =
    Vector.iterate(RestartPause(atOnce), restarts + 1)(next).tail.map(_.seconds)

  test(
    "short lives are followed at once, from a limit on after pauses that double up to a minute"
  ) {
    val doubled = Vector(1, 2, 4, 8, 16, 32, 60, 60, 60)
    assert(pauses(atOnce = 10, restarts = 19)(_.afterLife(59999)) == Vector.fill(10)(0) ++ doubled)
    assert(pauses(atOnce = 0, restarts = 9)(_.afterLife(10)) == doubled)
  }

  test("what cannot be started is tried again after pauses that double from the first on") {
    assert(
      pauses(atOnce = 10, restarts = 8)(_.afterFailedStart) == Vector(1, 2, 4, 8, 16, 32, 60, 60)
    )
  }

  test("a life of a minute makes good what was before") {
    val worn = Vector.iterate(RestartPause(atOnce = 3), 9)(_.afterFailedStart).last
    assert(worn.afterLife(60000) == RestartPause(atOnce = 3))
  }
}
