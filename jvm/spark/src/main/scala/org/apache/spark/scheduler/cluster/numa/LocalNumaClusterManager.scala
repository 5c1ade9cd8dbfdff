package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import scala.util.Try

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{DYN_ALLOCATION_MAX_EXECUTORS, EXECUTOR_INSTANCES}
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}
import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.scheduler.local.LocalSchedulerBackend
import org.apache.spark.util.Utils

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.plan.{Limits, Plan, PlanJson, PlanMode, Planner, Workload, WorkloadKind}
import io.hearth.core.topology.{IdSet, Scratch, TopologyReader}
import io.hearth.spark.MasterUrl

/**
 * The masters `local-numa`, `local-numa[N]` and `local-numa[NxM]`: one executor for each part of the plan,
 * bound to its CPUs and memory, without a master or worker daemon.
 *
 * The plan is taken from `spark.hearth.plan` or made here; a plan that says "do not partition" runs
 * Spark's own local scheduler in the driver.
 */
private[spark] class LocalNumaClusterManager extends ExternalClusterManager with Logging {

  override def canCreate(masterURL: String): Boolean = MasterUrl.matches(masterURL)

  override def createTaskScheduler(sc: SparkContext, masterURL: String): TaskScheduler = {
    val plan = LocalNumaClusterManager.planFor(sc.conf, masterURL)
    plan.reasons.foreach(r =>
      logInfo(s"Plan: ${r.decision} ${r.value}: ${r.because} (${r.source})")
    )
    plan.mode match {
      case PlanMode.Native =>
        ExecutorResources.refuse(sc.conf)
        new NativeScheduler(sc, plan)
      case PlanMode.Partitioned =>
        LocalNumaClusterManager.applySettings(sc.conf, plan)
        new PlannedScheduler(sc, plan)
    }
  }

  override def createSchedulerBackend(
      sc: SparkContext,
      masterURL: String,
      scheduler: TaskScheduler
  ): SchedulerBackend =
    scheduler.asInstanceOf[CreatesBackend].createBackend(sc)

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    scheduler.asInstanceOf[TaskSchedulerImpl].initialize(backend)
}

/** A scheduler of this manager, which knows the backend that carries out its plan. */
private[spark] trait CreatesBackend {
  def createBackend(sc: SparkContext): SchedulerBackend
}

/** One JVM, as `local[n]` runs it: a failed task is not tried again. */
private[spark] class NativeScheduler(sc: SparkContext, plan: Plan)
    extends TaskSchedulerImpl(sc, 1, isLocal = true)
    with CreatesBackend {
  override def createBackend(sc: SparkContext): SchedulerBackend =
    new LocalSchedulerBackend(sc.conf, this, plan.executors.head.taskSlots)
}

private[spark] class PlannedScheduler(sc: SparkContext, plan: Plan)
    extends LocalNumaScheduler(sc, plan.executors.map(_.host).toSet)
    with CreatesBackend {
  override def createBackend(sc: SparkContext): SchedulerBackend =
    new LocalNumaBackend(this, sc, plan)
}

private[spark] object LocalNumaClusterManager {

  /** @throws UserError when the master, a key or the plan file is wrong, or nothing fits the machine */
  def planFor(conf: SparkConf, master: String): Plan = {
    HearthConfig.all.foreach(conf.get(_))
    val url = MasterUrl.parse(master)
    conf.get(HearthConfig.PlanFile) match {
      case Some(file) => readPlan(Path.of(file), url)
      case None => makePlan(conf, master, url)
    }
  }

  private def makePlan(conf: SparkConf, master: String, url: MasterUrl): Plan = {
    val kind = conf.get(HearthConfig.WorkloadKind).flatMap(k => WorkloadKind.all.find(_.name == k))
    val workload = Workload(kind, conf.get(HearthConfig.InputSize))
    val limits = Limits(url.executors, url.cores, None, UserSettings.of(conf))
    Planner
      .plan(TopologyReader.load(None), workload, limits, IdSet.empty, Scratch.live())
      .fold(unfit => throw new UserError(s"master '$master': ${unfit.message}"), identity)
  }

  private def readPlan(file: Path, url: MasterUrl): Plan = {
    val text = Try(Files.readString(file)).getOrElse(
      throw new UserError(s"spark.hearth.plan: $file cannot be read; remove the key to plan anew")
    )
    val plan = PlanJson.read(Json.parse(text, file.toString))
    val executors = plan.executors.size
    if (url.executors.exists(_ != executors))
      throw new UserError(
        s"spark.hearth.plan: $file has $executors executors, the master asks for ${url.executors.get}; " +
          "use master local-numa, or remove the key to plan anew"
      )
    plan
  }

  /** What follows from the plan; what the user set himself stands in the plan already. */
  def applySettings(conf: SparkConf, plan: Plan): Unit = {
    plan.conf.foreach { case (key, value) => conf.set(key, value) }
    if (Utils.isDynamicAllocationEnabled(conf)) {
      val places = plan.executors.size
      conf.set(
        DYN_ALLOCATION_MAX_EXECUTORS,
        math.min(places, conf.get(DYN_ALLOCATION_MAX_EXECUTORS))
      )
    } else conf.set(EXECUTOR_INSTANCES, plan.executors.size)
  }
}
