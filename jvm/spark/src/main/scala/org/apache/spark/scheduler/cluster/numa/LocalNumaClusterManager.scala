package org.apache.spark.scheduler.cluster.numa

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkContext, SPARK_VERSION}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{DYN_ALLOCATION_MAX_EXECUTORS, EXECUTOR_INSTANCES}
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}
import org.apache.spark.scheduler.{TaskDescription, WorkerOffer}
import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.scheduler.local.LocalSchedulerBackend
import org.apache.spark.util.Utils

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.{Redaction, Terminal, UserError}
import io.hearth.core.plan.{
  BoundReasons,
  Coexistence,
  Engine,
  HearthKeys,
  HostNames,
  Plan,
  PlanJson,
  PlanMode,
  Reason
}
import io.hearth.core.plan.ShufflePartitions
import io.hearth.core.topology.IdSet
import io.hearth.driver.{
  ApplicationId,
  ApplicationToken,
  DriverJvm,
  HostAddresses,
  Leased,
  MasterUrl,
  RunningExecutor,
  SupportedSpark
}
import io.hearth.plugin.OneJvm
import io.hearth.sql.QuerySizedShuffles
import io.hearth.width.HeapReport

/**
 * The masters `local-numa`, `local-numa[N]` and `local-numa[NxM]`: one executor for each part of the plan,
 * bound to its CPUs and memory, without a master or worker daemon.
 *
 * The plan is taken from `spark.hearth.plan` or made here; a plan that says "do not partition" runs
 * Spark's own local scheduler in the driver.
 */
private[spark] class LocalNumaClusterManager extends ExternalClusterManager with Logging {

  /** Refuses an unsupported Spark here, where nothing else of this jar has been loaded yet. */
  override def canCreate(masterURL: String): Boolean =
    masterURL.startsWith("local-numa") && {
      SupportedSpark.check(SPARK_VERSION)
      MasterUrl.matches(masterURL)
    }

  override def createTaskScheduler(sc: SparkContext, masterURL: String): TaskScheduler = {
    val appId = sc.conf
      .getOption("spark.app.id")
      .fold(s"local-numa-${System.currentTimeMillis}-${ProcessHandle.current.pid}")(
        ApplicationId.checked
      )
    val leased = DriversLease.take(sc, masterURL, appId)
    val plan = leased.plan
    TaskProfiles.install(sc, plan)
    plan.reasons.foreach(tell)
    if (Engine.of(sc.conf.getOption).exists(_.sized)) QuerySizedShuffles.name(sc.conf)
    plan.mode match {
      case PlanMode.Native =>
        ExecutorResources.refuse(sc.conf)
        new NativeScheduler(sc, leased)
      case PlanMode.Partitioned =>
        LocalNumaClusterManager.applySettings(sc.conf, plan)
        LocalNumaClusterManager
          .settleHosts(sc.conf, HostAddresses.missing(plan.executors.map(_.host)))
          .foreach(logWarning(_))
        new PlannedScheduler(sc, leased, appId)
    }
  }

  private def tell(r: Reason): Unit = {
    val sentence = Terminal.escaped(s"Plan: ${r.decision} ${r.value}: ${r.because} (${r.source})")
    if (Coexistence.Decisions(r.decision) || BoundReasons.Decisions(r.decision))
      logWarning(sentence)
    else logInfo(sentence)
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
private[spark] class NativeScheduler(sc: SparkContext, leased: Leased)
    extends TaskSchedulerImpl(sc, 1, isLocal = true)
    with CreatesBackend
    with WideStages {
  private val slots = leased.plan.executors.head.taskSlots
  override private[numa] lazy val widths =
    StageWidths.of(sc, leased.plan, LinuxScheduling.cpusOfThread())(
      () => Vector(ProcessHandle.current.pid),
      () => Vector(HeapReport.part()),
      () => if (!sc.isStopped) backend.reviveOffers()
    )
  override private[numa] def slotsOf(executorId: String): Option[Int] = Some(slots)

  override def resourceOffers(
      offers: IndexedSeq[WorkerOffer],
      isAllFreeResources: Boolean
  ): Seq[Seq[TaskDescription]] = synchronized {
    super.resourceOffers(asWide(offers), isAllFreeResources)
  }

  override def createBackend(sc: SparkContext): SchedulerBackend = {
    widths
    val plan = PlanJson.shown(leased.plan, Redaction.of(sc.conf.getOption))
    OneJvm.keep(sc, Some(leased.copy(plan = plan)))
    new LocalSchedulerBackend(sc.conf, this, slots)
  }
}

private[spark] class PlannedScheduler(sc: SparkContext, leased: Leased, appId: String)
    extends LocalNumaScheduler(sc, leased.plan.executors.map(_.host).toSet)
    with CreatesBackend {
  private var running = () => Vector.empty[RunningExecutor]
  private val heaps = new ConcurrentHashMap[String, Double]
  override private[numa] val widths =
    StageWidths.of(sc, leased.plan, IdSet.union(leased.plan.executors.map(_.cpus)))(
      () => running().map(_.process.pid),
      () => heaps.values.asScala,
      () => if (!sc.isStopped) backend.reviveOffers()
    )
  override private[numa] def slotsOf(executorId: String): Option[Int] =
    running().find(_.id == executorId).map(_.place.taskSlots)

  override def createBackend(sc: SparkContext): SchedulerBackend = {
    // Before there is an endpoint: it answers every executor with the settings of its first answer.
    sc.conf.set(ApplicationToken.Key, UUID.randomUUID.toString)
    val jvm = DriverJvm.here()
    val launch = DriversLaunch.describe(sc, appId, jvm, leased.lease.map(_.file))
    val parts = new Wiring(sc, leased, appId, jvm, launch)
    running = () => parts.pool.running
    new LocalNumaBackend(this, sc, parts, heaps.put(_, _))
  }
}

private[spark] object LocalNumaClusterManager {

  /**
   * What follows from the plan; what the user set, in whatever way, stands. The driver has its shuffle manager
   * by now: another one for executors would not know what it registers.
   */
  def applySettings(conf: SparkConf, plan: Plan): Unit = {
    plan.conf.get(ShufflePartitions.Key).foreach(conf.set(HearthKeys.PlannedPartitions, _))
    (plan.conf - Engine.ShuffleManagerKey).foreach { case (key, value) =>
      conf.setIfMissing(key, value)
    }
    val key =
      if (Utils.isDynamicAllocationEnabled(conf)) DYN_ALLOCATION_MAX_EXECUTORS
      else EXECUTOR_INSTANCES
    conf.setIfMissing(key.key, plan.executors.size.toString)
    ()
  }

  /**
   * @param missing an address of the plan's hosts that this machine does not have, and why
   * @return what is to be logged
   * @throws UserError where the user insists on these addresses
   */
  private[numa] def settleHosts(conf: SparkConf, missing: => Option[String]): Option[String] = {
    val key = HearthKeys.Hosts.name
    val addresses = HearthKeys.Hosts.in(conf.getOption) == HostNames.OfNodes
    Option.when(addresses)(missing).flatten.map { why =>
      val remedy = "`ip addr add 127.0.0.1/8 dev lo`"
      if (conf.contains(key))
        throw new UserError(
          s"$key=${HostNames.OfNodes.name}: an executor cannot have its host's address ($why): leave the key out, or " +
            s"give the machine the loopback addresses of IPv4: $remedy"
        )
      conf.set(key, HostNames.OfMachine.name)
      s"All executors have the machine's own address: no NUMA node is a host, because $why ($key; $remedy)"
    }
  }
}
