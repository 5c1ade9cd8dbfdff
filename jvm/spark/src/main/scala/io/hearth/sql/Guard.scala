package io.hearth.sql

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

/**
 * Leaves a plan as it is where a rule of hearth's fails, with one warning.
 *
 * @param key turns the rule off
 * @param otherwise what the plan keeps, as a clause
 */
final private class Guard(key: String, otherwise: String) extends Logging {
  private val warned = new AtomicBoolean(false)

  def apply[Plan](plan: Plan)(rule: Plan => Plan): Plan =
    try rule(plan)
    catch {
      // A class that this version of Spark lacks is an error, and no exception.
      case fault @ (_: LinkageError | NonFatal(_)) =>
        if (warned.compareAndSet(false, true))
          logWarning(s"$otherwise: $fault; $key=false turns this rule of hearth's off")
        plan
    }
}
