package io.hearth.plugin

import java.nio.file.{FileAlreadyExistsException, Files, Path}
import java.time.Instant
import java.util.{Collections, Map => JMap}

import org.apache.spark.{SPARK_VERSION, SparkContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.ui.numa.HearthTab

import io.hearth.core.Redaction
import io.hearth.core.json.Json
import io.hearth.core.plan.{BindingMode, HearthKeys, HostNames, Launcher, PlanJson}
import io.hearth.driver._

/**
 * `spark.plugins=io.hearth.plugin.OneJvm`, which `hearth submit` adds behind the user's own where the plan is one JVM:
 * the record of the application and its tab in Spark's UI, as those under `local-numa` have. What fails of it fails no
 * application.
 */
final class OneJvm extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
      OneJvm.keep(sc, None)
      Collections.emptyMap()
    }
  }

  /** Spark's own way to say that there is none. */
  override def executorPlugin(): ExecutorPlugin = null
}

object OneJvm extends SparkLog("io.hearth.plugin.OneJvm") {

  /**
   * Keeps the record of an application of one JVM and shows it in its UI.
   *
   * @param planned by this driver, as it may be shown; otherwise `hearth submit` has left its plan in the application's directory
   */
  def keep(sc: SparkContext, planned: Option[Leased]): Unit = guarded {
    CompilerDirectives.add()
    val run = new OneJvmRun(sc, planned)
    sc.addSparkListener(new WorkListener(run.work, state => guarded(run.write(state))))
    HearthTab.show(sc, this)(() => run.tables)
  }

  /** Whatever fails of it: an error in a listener's thread would stop the application. */
  private def guarded(work: => Unit): Unit =
    try work
    catch {
      case e @ (_: Exception | _: LinkageError) =>
        warn(s"hearth cannot keep the record of this application: $e")
    }
}

/** The record of one application that is one JVM. */
final private class OneJvmRun(sc: SparkContext, planned: Option[Leased]) {
  val work = new WorkSoFar
  private val startedAt = Instant.now()
  private val jvm = DriverJvm.here()
  private val conf = sc.getConf
  private val redaction = Redaction.of(conf.getOption)
  private val bestEffort =
    new BestEffort("The application goes on, but hearth cannot keep its record", OneJvm.warn)

  /** Made when the application has its id. */
  private lazy val directory: Option[RunDirectory] = bestEffort.attempt {
    val chosen = HearthKeys.RunsDirectory.set(conf.getOption).map(Path.of(_))
    val root = chosen.getOrElse(RunDirectory.root(jvm.environment, jvm.userHome))
    val submitted = RunDirectory.submitted(root, jvm.pid, jvm.startTicks)
    val made =
      try RunDirectory.create(root, sc.applicationId, submitted)
      catch {
        // Of an id that the user has chosen and used before.
        case e: FileAlreadyExistsException => new RunDirectory(submitted.getOrElse(throw e))
      }
    planned.foreach(known => made.writePlan(PlanJson.write(known.plan)))
    made
  }

  def write(state: RunState): Unit =
    directory.foreach(at => bestEffort.attempt(at.writeRun(record(state).toJson)))

  private def record(state: RunState) = RunRecord(
    sc.applicationId,
    redaction(sc.appName),
    sc.master,
    SPARK_VERSION,
    jvm.machine,
    jvm.pid,
    jvm.startTicks,
    startedAt,
    state,
    HostNames.OfMachine,
    BindingMode.Off,
    Launcher.AsProcess,
    sc.uiWebUrl,
    scratch = Vector.empty,
    work = Option.when(state == RunState.Finished)(work.now.toJson(Work.peakMb()))
  )

  def tables: Vector[UiTable] =
    workTable +: planned.map(about(_).all).orElse(submitted).getOrElse(Vector.empty)

  private def about(leased: Leased) =
    new ApplicationTables(leased.plan, leased, () => Vector.empty)

  private def workTable = {
    val now = work.now
    val seconds = Vector(now.runMs, now.gcMs).map(ms => f"${ms / 1000.0}%.1f s")
    UiTable(
      "Work so far",
      "`hearth profile` records where the time goes.",
      Vector("Tasks", "Failed", "Run time of tasks", "Garbage collection", "Peak memory"),
      Vector(
        Vector(s"${now.tasks}", s"${now.failed}") ++ seconds :+
          Work.peakMb().fold("–")(mb => s"$mb MB")
      )
    )
  }

  /** By the plan that `hearth submit` has left here. It knows of its lease, this driver does not. */
  private lazy val submitted: Option[Vector[UiTable]] =
    directory.map(_.path.resolve("plan.json")).filter(Files.isRegularFile(_)).map { file =>
      val plan = PlanJson.read(Json.parse(Files.readString(file), file.toString))
      about(Leased(plan, None, unbound = false)).withoutLease
    }
}
