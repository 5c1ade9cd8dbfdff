package org.apache.spark.scheduler.cluster.numa

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}

import scala.concurrent.Future

import org.apache.spark.{SparkConf, SparkContext, Success}
import org.apache.spark.executor.ExecutorExitCode
import org.apache.spark.internal.config.{
  EXECUTOR_ATTEMPT_FAILURE_VALIDITY_INTERVAL_MS,
  MAX_EXECUTOR_FAILURES,
  SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO
}
import org.apache.spark.internal.config.Deploy.MAX_EXECUTOR_RETRIES
import org.apache.spark.launcher.{LauncherBackend, SparkAppHandle}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.{RpcAddress, RpcCallContext}
import org.apache.spark.scheduler._
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.RegisterExecutor
import org.apache.spark.scheduler.cluster.{CoarseGrainedSchedulerBackend, SchedulerBackendUtils}
import org.apache.spark.util.ShutdownHookManager

import io.hearth.core.plan.{ExecutorPlan, Plan}
import io.hearth.spark.{ExecutorLaunch, ExecutorPool, ExitStatus, LossHistory, LossLimit, Member}
import io.hearth.spark.PoolListener

/**
 * Runs the plan's executors as processes of this machine and keeps them running: Spark's scheduler asks
 * for executors, the pool holds the places, and what the kernel says of a process decides its fate, not
 * its socket.
 */
private[spark] class LocalNumaBackend(scheduler: TaskSchedulerImpl, sc: SparkContext, plan: Plan)
    extends CoarseGrainedSchedulerBackend(scheduler, sc.env.rpcEnv) {

  private val appId = sc.conf
    .getOption("spark.app.id")
    .getOrElse(s"local-numa-${System.currentTimeMillis}-${ProcessHandle.current.pid}")
  private val initialExecutors =
    math.min(
      plan.executors.size,
      SchedulerBackendUtils.getInitialTargetExecutorNumber(conf, plan.executors.size)
    )
  private val losses = new AtomicReference(LocalNumaBackend.lossHistory(conf))

  private lazy val application = new RunningApplication(sc, appId, plan)
  private lazy val pool = new ExecutorPool(plan.executors, application.startExecutor, Losses)
  private lazy val placement = new PlacementWatch(application, pool, () => getExecutorIds(), conf)

  // Until all have been started a failure is thrown to whoever makes the SparkContext.
  @volatile private var started = false
  private val givenUp = new AtomicBoolean(false)
  private val stopEnded = new CountDownLatch(1)
  @volatile private var lastHook: Option[AnyRef] = None
  @volatile private var startFailure: Option[Throwable] = None

  private val launcher = new LauncherBackend() {
    override protected def conf: SparkConf = sc.conf
    override protected def onStopRequest(): Unit = sc.stopInNewThread()
  }

  override protected val minRegisteredRatio: Double =
    if (conf.get(SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO).isEmpty) 0.8
    else super.minRegisteredRatio

  override def applicationId(): String = appId

  override def sufficientResourcesRegistered(): Boolean =
    totalRegisteredExecutors.get >= initialExecutors * minRegisteredRatio

  override def start(): Unit = {
    super.start()
    launcher.connect()
    launcher.setAppId(appId)
    lastHook = Some(
      ShutdownHookManager.addShutdownHook(LocalNumaBackend.HookPriority)(() => awaitStop())
    )
    application.open()
    sc.listenerBus.addToManagementQueue(FinishedTasks)
    pool.startInitial(initialExecutors)
    startFailure.foreach(cause => throw cause)
    started = true
    placement.start()
    launcher.setState(SparkAppHandle.State.RUNNING)
  }

  override def stop(): Unit =
    try {
      placement.close()
      super.stop()
    } finally {
      try stopApplication()
      finally stopEnded.countDown()
      if (!ShutdownHookManager.inShutdown())
        lastHook.foreach(ShutdownHookManager.removeShutdownHook)
    }

  private def stopApplication(): Unit = {
    pool.stop(
      if (application.writesArchive) LocalNumaBackend.ArchiveGraceSeconds
      else LocalNumaBackend.StopGraceSeconds
    )
    application.executorsEnded()
    application.close()
    launcher.setState(SparkAppHandle.State.FINISHED)
    launcher.close()
  }

  /** The JVM does not end under a stop that another thread has begun, as when the application is given up. */
  private def awaitStop(): Unit = if (sc.isStopped) {
    stopEnded.await(LocalNumaBackend.ArchiveGraceSeconds, TimeUnit.SECONDS)
    ()
  }

  override protected def doRequestTotalExecutors(
      wanted: Map[ResourceProfile, Int]
  ): Future[Boolean] = {
    pool.setTarget(wanted.valuesIterator.sum)
    Future.successful(true)
  }

  override protected def doKillExecutors(executorIds: Seq[String]): Future[Boolean] = {
    pool.end(executorIds, LocalNumaBackend.StopGraceSeconds)
    Future.successful(true)
  }

  override def decommissionExecutors(
      executors: Array[(String, ExecutorDecommissionInfo)],
      adjustTargetNumExecutors: Boolean,
      triggeredByExecutor: Boolean
  ): Seq[String] = {
    pool.expectExit(executors.map(_._1).toSeq)
    super.decommissionExecutors(executors, adjustTargetNumExecutors, triggeredByExecutor)
  }

  override protected def createDriverEndpoint(): DriverEndpoint = new NumaDriverEndpoint

  /**
   * A lost connection only stops new tasks; the process's exit, which says why, removes the executor.
   * An executor of another application has no place here.
   */
  private class NumaDriverEndpoint extends DriverEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] =
      refuseStrangers(context).orElse(super.receiveAndReply(context))

    private def refuseStrangers(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case RegisterExecutor(id, _, host, _, _, attributes, _, _)
          if !attributes.get(ExecutorLaunch.ApplicationAttribute).contains(appId) =>
        val refusal =
          s"executor $id on $host is not of application $appId, whose driver this is"
        logWarning(s"Refused to register: $refusal")
        context.sendFailure(new IllegalStateException(refusal))
    }

    override def onDisconnected(address: RpcAddress): Unit =
      addressToExecutorId.get(address).foreach(disableExecutor)
  }

  private object FinishedTasks extends SparkListener {
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
      if (end.reason == Success) {
        losses.updateAndGet(_.finishedTask(end.taskInfo.executorId))
        ()
      }
  }

  private object Losses extends PoolListener {
    override def exited(member: Member, code: Int, asked: Boolean): Unit = {
      val what = s"executor ${member.id} (place ${member.place.id}, process ${member.process.pid})"
      if (asked) {
        logInfo(s"$what ended as asked, exit $code")
        // A decommissioned one has said why itself; to be removed again would tell listeners twice.
        if (getExecutorIds().contains(member.id)) removeExecutor(member.id, ExecutorKilled)
      } else lost(member, code, what)
    }

    override def notStarted(place: ExecutorPlan, cause: Throwable): Unit = {
      startFailure = Some(cause)
      if (started)
        giveUp(s"the executor of place ${place.id} could not be started: ${cause.getMessage}")
    }

    private def lost(member: Member, code: Int, what: String): Unit = {
      val words = ExitStatus.lastWords(application.stderrOf(member.id))
      val explained = explain(member.id, code)
      val remedy = ExitStatus.remedy(words).fold("")(what => s"; $what")
      val quoted = remedy + (if (words.isEmpty) "" else s"; its last words:\n$words")
      logError(s"Lost $what: $explained$quoted")
      removeExecutor(
        member.id,
        ExecutorExited(code, exitCausedByApp = code != 143, s"$explained$quoted")
      )
      val now = System.currentTimeMillis
      losses
        .updateAndGet(_.lost(member.id, now))
        .exhausted(pool.running.map(_.id).toSet)
        .foreach(why => giveUp(s"$why; the last was $what: $explained$quoted"))
    }
  }

  private def explain(executorId: String, code: Int): String =
    if (LocalNumaBackend.SparkExitCodes.contains(code))
      s"exit $code: ${ExecutorExitCode.explainExitCode(code)}"
    else application.explainExit(executorId, code)

  private def giveUp(reason: String): Unit = if (givenUp.compareAndSet(false, true)) {
    logError(s"The application ends: $reason")
    pool.startNoMore()
    launcher.setState(SparkAppHandle.State.FAILED)
    try scheduler.error(reason)
    finally sc.stopInNewThread()
  }
}

private[spark] object LocalNumaBackend {

  /** How long an executor may take to end by itself before it is killed. */
  val StopGraceSeconds: Long = 10

  /** The same for an executor that writes the class-data archive when it ends, once for all later runs. */
  val ArchiveGraceSeconds: Long = 60

  /** After SparkContext's own hook, which stops it unless somebody does already; before temporary files go. */
  val HookPriority: Int = ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY - 1

  /** What the user set of `spark.executor.maxNumFailures` counts in all, otherwise as standalone does. */
  def lossHistory(conf: SparkConf): LossHistory = LossHistory(
    conf
      .get(MAX_EXECUTOR_FAILURES)
      .fold[LossLimit](LossLimit.InARow(conf.get(MAX_EXECUTOR_RETRIES)))(LossLimit.InAll(_)),
    conf.get(EXECUTOR_ATTEMPT_FAILURE_VALIDITY_INTERVAL_MS).filter(_ > 0)
  )

  /** Spark's own exit codes of executors (SparkExitCode, ExecutorExitCode). */
  val SparkExitCodes: Range = 50 to 57
}
