package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.rpc.{RpcEndpoint, RpcEnv}

import io.hearth.core.Redaction
import io.hearth.core.affinity.{BindingRefused, LinuxScheduling}
import io.hearth.core.leases.{Lease, LeaseRegistry, Leases}
import io.hearth.core.plan.{Fitting, HearthKeys, Plan}
import io.hearth.driver.{BestEffort, DriverJvm, Leased, Leasing}
import io.hearth.plugin.DriversLog

/** The lease of an application, taken with its plan in its driver. */
private[spark] object DriversLease {

  /** @throws io.hearth.core.UserError as [[DriversPlan]], or where nothing fits, or is free and that is refused */
  def take(sc: SparkContext, master: String, appId: String): Leased = {
    val plans = new DriversPlan(sc.conf, master, sys.props.toMap)
    val counts = HearthKeys.Neighbours.in(sc.conf.getOption) != "ignore"
    val leased = if (counts) beside(sc, plans.fitting, appId) else alone(plans.fitting)
    plans.change(leased).foreach(DriversLog.warn)
    plans.settle(leased.plan)
    if (counts)
      try bindDriver(sc.conf, leased.plan)
      catch { case e: BindingRefused => DriversLog.warn(e.getMessage) }
    leased
  }

  private def alone(fitting: Fitting): Leased = {
    val fitted = fitting.beside(Leases.none)
    Leased(fitted.plan, None, fitted.unbound)
  }

  private def beside(sc: SparkContext, fitting: Fitting, appId: String): Leased = {
    // One for each application: a notebook's second context is warned, too.
    val bestEffort = new BestEffort(Leasing.NotSeen, DriversLog.warn)
    val leased = new Leasing(
      () => LeaseRegistry.here(sys.env.get),
      HearthKeys.WhenFull.in(sc.conf.getOption),
      describe(sc, appId),
      bestEffort,
      DriversLog
    ).take(fitting)
    releaseWith(sc.env.rpcEnv, leased, bestEffort)
    leased
  }

  /**
   * Gives the lease back when a context's RPC environment ends: so it does when the context stops, and also where
   * the context could not be made. Whatever is stopped before that runs beside no other application.
   */
  private def releaseWith(env: RpcEnv, leased: Leased, bestEffort: BestEffort): Unit = {
    env.setupEndpoint(
      "hearth-lease",
      new RpcEndpoint {
        override val rpcEnv: RpcEnv = env
        override def onStop(): Unit = leased.release(bestEffort)
      }
    )
    ()
  }

  /** `hearth submit` has bound this driver by the plan that it made; another plan binds it elsewhere. */
  private def bindDriver(conf: SparkConf, plan: Plan): Unit =
    DriversPlan.allowed(conf).foreach { all =>
      val cpus = if (plan.driver.bound) plan.driver.cpus else all
      if (cpus != LinuxScheduling.cpusOfThread()) LinuxScheduling.bindProcessToCpus(cpus)
    }

  private def describe(sc: SparkContext, appId: String): Lease = {
    val jvm = DriverJvm.here()
    Lease.of(appId, Redaction.of(sc.conf.getOption)(sc.appName), jvm.pid, jvm.startTicks)
  }
}
