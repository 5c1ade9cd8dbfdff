package io.hearth.plugin

import java.util.concurrent.TimeUnit
import java.util.{Collections, Map => JMap}

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.ui.numa.HearthTab

import io.hearth.binding._
import io.hearth.core.files.Homes
import io.hearth.core.leases.{ActiveLease, Lease, LeaseRegistry}
import io.hearth.core.{Redaction, UserError}
import io.hearth.core.plan.{BindingMode, HearthKeys}
import io.hearth.driver.{BestEffort, DaemonThread, DriverJvm}

/**
 * `spark.plugins=io.hearth.plugin.BindingPlugin`: each executor binds itself to a partition of its machine, whatever
 * cluster manager has started it, and tells its driver (docs/binding-plugin.md). What fails of it fails no
 * executor, unless `spark.hearth.binding` is `required`.
 */
final class BindingPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new BindingDriver
  override def executorPlugin(): ExecutorPlugin = new BindingExecutor
}

/** Keeps and shows what the executors tell. */
final private class BindingDriver extends DriverPlugin {
  private val timer = DaemonThread.scheduled("hearth-binding")
  @volatile private var reports = Option.empty[BindingReports]
  @volatile private var strictly = Option.empty[SparkContext]

  override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
    // A wrong value ends the application, as that of any key.
    strictly = Some(sc).filter(_ => BindingPlugin.mode(context.conf) == BindingMode.Required)
    BindingPlugin.guarded("Executors bind themselves, but the driver cannot record how") {
      reports = Some(
        new BindingReports(
          () => sc.applicationId,
          Redaction.of(context.conf.getOption)(sc.appName),
          Homes.state(sys.env.get, sys.props("user.home")).resolve("bindings"),
          BindingPlugin.Kept,
          new BestEffort("How executors are bound is in this log only", BindingPlugin.warn),
          BindingPlugin
        )
      )
      val every = BindingPlugin.EverySeconds
      timer.scheduleWithFixedDelay(() => publish(), every, every, TimeUnit.SECONDS)
      HearthTab.show(sc, BindingPlugin)(() => reports.map(_.uiTable).toVector)
    }
    Collections.emptyMap()
  }

  override def receive(message: Object): Object = {
    BindingPlugin.guarded("An executor's binding report is not valid") {
      reports.flatMap(_.add(message.toString)).foreach(refused)
    }
    java.lang.Boolean.TRUE
  }

  /** Cluster managers would start executors again and again. */
  private def refused(why: String): Unit = strictly.foreach { sc =>
    strictly = None
    BindingPlugin.error(s"${BindingPlugin.refusal(why)}; the application ends")
    timer.execute(() => sc.stop())
  }

  override def shutdown(): Unit = {
    timer.shutdown()
    publish()
  }

  private def publish(): Unit = BindingPlugin.guarded("How executors are bound cannot be shown") {
    reports.foreach(_.publish())
  }
}

/** Binds the executor whose threads are about to be started, and tells the driver. */
final private class BindingExecutor extends ExecutorPlugin {
  private var lease = Option.empty[ActiveLease]

  override def init(context: PluginContext, extraConf: JMap[String, String]): Unit = {
    val mode = BindingPlugin.mode(context.conf)
    val refused =
      try bind(context, mode)
      catch { case e: Throwable => Some(BindingPlugin.unexpected("The executor is not bound", e)) }
    refused.filter(_ => mode == BindingMode.Required).foreach { why =>
      shutdown()
      throw new UserError(BindingPlugin.refusal(why))
    }
  }

  /** @return why it does not have what it should */
  private def bind(context: PluginContext, mode: BindingMode): Option[String] = {
    val jvm = DriverJvm.here()
    val conf = context.conf
    val view = ExecutorView.here(conf.getAll.toMap)
    val outcome = new ExecutorBinding(
      observeOnly(context, mode),
      view,
      LiveProcess,
      () => LeaseRegistry.here(sys.env.get),
      !view.ownProcesses || sys.env.contains(LeaseRegistry.Variable),
      Lease.of(
        s"${conf.get("spark.app.id", "?")}/${context.executorID}",
        Redaction.of(conf.getOption)(conf.get("spark.app.name", "?")),
        jvm.pid,
        jvm.startTicks
      ),
      BindingPlugin.warn
    ).run()
    lease = outcome.lease
    BindingPlugin.info(s"This executor is ${outcome.sentence}")
    outcome.warnings.foreach(BindingPlugin.warn)
    // Asked, not sent: an executor that ends now has been heard.
    BindingPlugin.guarded("The driver was not told how this executor is bound") {
      val report = BindingReports.report(context.executorID, jvm.machine, jvm.pid, outcome)
      val _ = context.ask(report.toString)
    }
    outcome.refusal
  }

  private def observeOnly(context: PluginContext, mode: BindingMode): Option[String] =
    if (context.executorID == "driver")
      Some("in local mode one JVM is driver and executor, and has the whole machine")
    else Option.when(mode == BindingMode.Off)(s"${HearthKeys.Binding.name}=off")

  override def shutdown(): Unit =
    BindingPlugin.guarded("The lease is only released when this process ends") {
      lease.foreach(_.close())
    }
}

private object BindingPlugin extends SparkLog("io.hearth.plugin.BindingPlugin") {
  val EverySeconds = 3L

  /** Documents of applications that stay. */
  val Kept = 50

  /** `preferred` unless it is set: a cluster's executors run also where one cannot be bound. */
  def mode(conf: SparkConf): BindingMode =
    HearthKeys.Binding.set(conf.getOption).getOrElse(BindingMode.Preferred)

  def refusal(why: String): String =
    s"${HearthKeys.Binding.name}: 'required', and an executor cannot be bound: $why"

  /** Nothing of the plugin's ends what Spark does. */
  def guarded(failing: String)(work: => Unit): Unit =
    try work
    catch { case e: Throwable => val _ = unexpected(failing, e) }

  def unexpected(failing: String, e: Throwable): String = {
    fault(failing, e)
    e.toString
  }
}
