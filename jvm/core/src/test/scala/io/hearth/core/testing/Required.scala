package io.hearth.core.testing

import org.scalatest.Assertions

/**
 * What a test needs from its surroundings. Where it is absent the test is canceled, visibly; where
 * `HEARTH_REQUIRE` (a comma-separated list) names it, the test fails.
 */
object Required extends Assertions {

  def apply(name: String, present: Boolean, what: String): Unit = {
    val required = sys.env.getOrElse("HEARTH_REQUIRE", "").split(',').map(_.trim).contains(name)
    if (!present && required) fail(s"HEARTH_REQUIRE names '$name', but $what is absent")
    if (!present) cancel(s"$what is absent")
  }
}
