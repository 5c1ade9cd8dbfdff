package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.rpc.{RpcEndpoint, RpcEnv}

import io.hearth.core.Redaction
import io.hearth.core.affinity.{BindingRefused, LinuxScheduling}
import io.hearth.core.leases.{Lease, LeaseRegistry, Leases}
import io.hearth.core.plan.{Fitted, HearthKeys, Plan}
import io.hearth.core.topology.IdSet
import io.hearth.driver.{BestEffort, DriverJvm, Leased, Leasing}

/** The lease of an application, taken with its plan in its driver. */
private[spark] object DriversLease {

  /** @throws io.hearth.core.UserError as [[DriversPlan.planFor]], or where nothing is free and that is refused */
  def take(sc: SparkContext, master: String, appId: String): Leased = {
    val fit = DriversPlan.fitting(sc.conf, master, sys.props.toMap)
    if (HearthKeys.Neighbours.in(sc.conf.getOption) == "ignore") unleased(fit)
    else {
      // One for each application: a notebook's second context is warned, too.
      val bestEffort = new BestEffort(Leasing.NotSeen, DriversLog.warn)
      val leasing = new Leasing(
        () => LeaseRegistry.here(sys.env.get),
        HearthKeys.WhenFull.in(sc.conf.getOption),
        describe(sc, appId),
        bestEffort,
        DriversLog
      )
      val leased = leasing.take(fit)
      releaseWith(sc.env.rpcEnv, leased, bestEffort)
      try place(sc.conf, leased)
      catch { case e: BindingRefused => DriversLog.warn(e.getMessage) }
      leased
    }
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

  private def unleased(fit: Leases => Fitted): Leased = {
    val fitted = fit(Leases.none)
    Leased(fitted.plan, None, fitted.unbound)
  }

  /** `hearth submit` has bound this driver by the plan that it made; another plan has another place. */
  private def place(conf: SparkConf, leased: Leased): Unit =
    DriversPlan.allowed(conf).foreach { all =>
      val wanted = placeOf(leased.plan, all)
      if (wanted != LinuxScheduling.cpusOfThread()) LinuxScheduling.bindProcessToCpus(wanted)
    }

  private def placeOf(plan: Plan, all: IdSet): IdSet =
    if (plan.driver.bound) plan.driver.cpus else all

  private def describe(sc: SparkContext, appId: String): Lease = {
    val jvm = DriverJvm.here()
    Lease.of(appId, Redaction.of(sc.conf.getOption)(sc.appName), jvm.pid, jvm.startTicks)
  }
}
