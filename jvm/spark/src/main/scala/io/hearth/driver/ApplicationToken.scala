package io.hearth.driver

/**
 * By which an executor knows its driver, and the driver its executors: a name drawn anew for each
 * application, which the driver has among its settings and an executor in its environment. It guards
 * against a mistake in the address; against an attacker there is `spark.authenticate`.
 */
object ApplicationToken {

  /** The setting of the driver; `token` in its name makes Spark redact it wherever settings are shown. */
  val Key: String = "spark.hearth.internal.token"

  /** The variable of an executor: unlike a command line, other users cannot read it. */
  val Variable: String = "HEARTH_APPLICATION_TOKEN"

  /** Exit code of an executor that was about to register with another application's driver. */
  val StrangersExit: Int = 78
}
