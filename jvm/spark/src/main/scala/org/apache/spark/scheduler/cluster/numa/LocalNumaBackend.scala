package org.apache.spark.scheduler.cluster.numa

import java.util.concurrent.{CountDownLatch, ExecutionException, TimeUnit}

import scala.concurrent.Future
import scala.jdk.CollectionConverters._

import org.apache.spark.{ExceptionFailure, SparkConf, SparkContext, Success}
import org.apache.spark.internal.config.{
  DEFAULT_PARALLELISM,
  SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO
}
import org.apache.spark.launcher.{LauncherBackend, SparkAppHandle}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.{RpcAddress, RpcCallContext}
import org.apache.spark.scheduler._
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.{
  LaunchedExecutor,
  RegisterExecutor
}
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.util.ShutdownHookManager

import io.hearth.driver._
import io.hearth.width.HeapReport

/**
 * Between Spark's scheduler and the parts of an application: passes on what Spark asks for and what is to
 * become of executors, and decides nothing itself. What the kernel says of a process decides its fate, not
 * its socket.
 */
private[spark] class LocalNumaBackend(
    scheduler: TaskSchedulerImpl,
    sc: SparkContext,
    parts: Wiring,
    heapOf: (String, Double) => Unit
) extends CoarseGrainedSchedulerBackend(scheduler, sc.env.rpcEnv) {
  import parts.{appId, application, archive, pool, placement}

  private val supervisor = parts.supervise(Scheduler)
  private val stopEnded = new CountDownLatch(1)
  @volatile private var lastHook: Option[AnyRef] = None

  private val launcher = new LauncherBackend() {
    override protected def conf: SparkConf = sc.conf
    override protected def onStopRequest(): Unit = sc.stopInNewThread()
  }

  override protected val minRegisteredRatio: Double =
    if (conf.get(SCHEDULER_MIN_REGISTERED_RESOURCES_RATIO).isEmpty) 0.8
    else super.minRegisteredRatio

  /** How many of the first executors are still to come before tasks start. */
  private val awaited = new CountDownLatch(
    math.ceil(parts.initialExecutors * minRegisteredRatio).toInt
  )

  override def applicationId(): String = appId

  /** SparkContext does not wait for it (`PlannedScheduler`), so executors start beside the application. */
  override def sufficientResourcesRegistered(): Boolean = awaited.getCount == 0

  /** Executors that are still starting count: a job is cut for those that will run it. */
  override def defaultParallelism(): Int =
    if (conf.contains(DEFAULT_PARALLELISM.key)) super.defaultParallelism()
    else math.max(super.defaultParallelism(), pool.expected.map(_.taskSlots).sum)

  /**
   * Asked for a stage whose tasks must all run at once, which Spark gives up where too few executors are there for
   * some time. Those that are still to come count: Spark does not start the stage before they are there.
   */
  override def maxNumConcurrentTasks(profile: ResourceProfile): Int =
    math.max(super.maxNumConcurrentTasks(profile), TaskProfiles.slots(profile, conf, pool.expected))

  override def start(): Unit = {
    super.start()
    launcher.connect()
    launcher.setAppId(appId)
    lastHook = Some(
      ShutdownHookManager.addShutdownHook(LocalNumaBackend.HookPriority)(() => awaitStop())
    )
    application.open()
    parts.announce()
    sc.listenerBus.addToManagementQueue(EndedTasks)
    try pool.start(parts.initialExecutors, supervisor).get()
    catch { case e: ExecutionException => throw e.getCause }
    placement.start(() => getExecutorIds().toSet)
    parts.lending.start(() => activity())
    launcher.setState(SparkAppHandle.State.RUNNING)
  }

  override def stop(): Unit =
    try {
      parts.lending.close()
      placement.close()
      super.stop()
    } finally {
      try stopApplication()
      finally stopEnded.countDown()
      if (!ShutdownHookManager.inShutdown())
        lastHook.foreach(ShutdownHookManager.removeShutdownHook)
    }

  /** Their last messages find the endpoint that they are for, which goes next. */
  override def stopExecutors(): Unit = {
    super.stopExecutors()
    awaitExecutors()
  }

  private def awaitExecutors(): Unit =
    pool.stop(LocalNumaBackend.graceSeconds(archive.pending)).get()

  private def stopApplication(): Unit = {
    awaitExecutors()
    application.close()
    launcher.setState(SparkAppHandle.State.FINISHED)
    launcher.close()
  }

  /** The JVM does not end under a stop that another thread has begun, as when the application is given up. */
  private def awaitStop(): Unit = if (sc.isStopped) {
    stopEnded.await(LocalNumaBackend.graceSeconds(archive = true), TimeUnit.SECONDS)
    ()
  }

  /** Called when tasks have come, and when one has failed or is to be run twice. */
  override def reviveOffers(): Unit = {
    // The endpoint that is told is gone when the application has stopped, and Spark logs that as an error.
    if (!sc.isStopped) super.reviveOffers()
    parts.lending.wake()
  }

  private def activity(): Activity = scheduler.synchronized {
    val tasks = Option(scheduler.rootPool).toVector.flatMap(_.getSortedTaskSetQueue)
    Activity(tasks.exists(LocalNumaBackend.isPending), scheduler.runningTasksByExecutors)
  }

  override protected def doRequestTotalExecutors(
      wanted: Map[ResourceProfile, Int]
  ): Future[Boolean] = {
    pool.setTarget(wanted.valuesIterator.sum)
    Future.successful(true)
  }

  override protected def doKillExecutors(executorIds: Seq[String]): Future[Boolean] = {
    pool.end(executorIds, LocalNumaBackend.graceSeconds(archive = false))
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

  /** A lost connection only stops new tasks; the process's exit, which says why, removes the executor. */
  private class NumaDriverEndpoint extends DriverEndpoint {
    override def receive: PartialFunction[Any, Unit] = {
      val sparks = super.receive
      val launched: PartialFunction[Any, Unit] = { case message: LaunchedExecutor =>
        // Spark offers its tasks to this executor alone: the last of the first ones must not get all.
        sparks(message)
        awaited.countDown()
        if (sufficientResourcesRegistered()) reviveOffers()
      }
      launched.orElse[Any, Unit] { case HeapReport(id, part) => heapOf(id, part) }.orElse(sparks)
    }

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] =
      refusing(context).orElse(super.receiveAndReply(context))

    private def refusing(context: RpcCallContext): PartialFunction[Any, Unit] =
      Function.unlift(refusal).andThen { reason =>
        logWarning(s"Refused to register: $reason")
        context.sendFailure(new IllegalStateException(reason))
      }

    private def refusal(message: Any): Option[String] = message match {
      case RegisterExecutor(id, _, host, _, _, attributes, _, _) =>
        val of = attributes.get(ExecutorLaunch.ApplicationAttribute)
        Registration.refusal(id, host, of, appId, pool.hasEnded(id))
      case _ => None
    }

    override def onDisconnected(address: RpcAddress): Unit =
      if (!sc.isStopped) addressToExecutorId.get(address).foreach(disableExecutor)
  }

  private object EndedTasks extends SparkListener {
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = end.reason match {
      case Success => supervisor.finishedTask(end.taskInfo.executorId)
      case failure: ExceptionFailure => parts.taskFailed(failure.toErrorString)
      case _ =>
    }
  }

  private object Scheduler extends SchedulerSide {
    override def knows(executorId: String): Boolean = getExecutorIds().contains(executorId)

    override def runningTasks: Set[Long] = scheduler.taskIdToTaskSetManager.keySet.asScala.toSet

    override def removeEnded(executorId: String): Unit = remove(executorId, ExecutorKilled)

    override def removeLost(
        executorId: String,
        code: Int,
        byApplication: Boolean,
        reason: String
    ): Unit = remove(executorId, ExecutorExited(code, byApplication, reason))

    /** Executors that end with the application find nobody who could be told. */
    private def remove(executorId: String, reason: ExecutorLossReason): Unit =
      if (!sc.isStopped) removeExecutor(executorId, reason)

    override def giveUp(reason: String): Unit = {
      launcher.setState(SparkAppHandle.State.FAILED)
      try scheduler.error(reason)
      finally sc.stopInNewThread()
    }
  }
}

private[spark] object LocalNumaBackend {

  /** Whether a stage has a task that nobody runs. */
  private def isPending(tasks: TaskSetManager): Boolean = !tasks.isZombie &&
    tasks.successful.indices.exists(i => !tasks.successful(i) && tasks.copiesRunning(i) == 0)

  /**
   * How long an executor may take to end by itself before it is killed.
   *
   * @param archive whether one is to write the class-data archive when it ends, once for all later runs
   */
  def graceSeconds(archive: Boolean): Long = if (archive) 60 else 10

  /** After SparkContext's own hook, which stops it unless somebody does already; before temporary files go. */
  val HookPriority: Int = ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY - 1
}
