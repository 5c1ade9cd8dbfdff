package org.apache.spark.scheduler.cluster.numa

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkContext, Success, TaskKilled}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.internal.config.CPUS_PER_TASK
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.scheduler._
import org.apache.spark.ui.numa.HearthTab

import io.hearth.core.plan.{Engine, HearthKeys, Plan}
import io.hearth.core.topology.IdSet
import io.hearth.driver.{Log, UiTable}
import io.hearth.plugin.DriversLog
import io.hearth.width._

/**
 * How many tasks of each stage run at once (`spark.hearth.width=adaptive`): hears from Spark what tasks took, lets
 * [[WidthSearch]] decide, and says so. Events come in one thread; `more` is for the scheduler's.
 *
 * Stages of one call site and kind share a search, so that an iteration begins where the last one ended. While tasks
 * of two stages run beside each other, nothing is learned.
 *
 * @param planned tasks at once of an executor by the plan
 * @param executors of the plan
 * @param cpus that these have, and what they have used so far
 * @param heap how full the fullest heap is
 * @param room the widest that memory allows, by how many tasks at once the fullest heap has been so full
 * @param revive tells the scheduler that there are more slots
 */
final private[numa] class StageWidths(
    planned: Int,
    executors: Int,
    cpus: Int,
    cpu: () => CpuUse,
    heap: () => Double,
    room: (Int, Double) => Int,
    revive: () => Unit,
    post: SparkListenerEvent => Unit,
    log: Log
) extends SparkListener {
  import StageWidths._

  private val running = new ConcurrentHashMap[Int, Running]
  private var searches = Map.empty[String, StageWidth]
  private var seen = Map.empty[String, Int]
  private var mixed = 0L
  @volatile private var latest = Vector.empty[StageWidthFound]

  /** How many more tasks than planned an executor of so many slots may run of a stage; fewer, if negative. */
  def more(stageId: Int, slots: Int): Int = Option(running.get(stageId)).fold(0) { stage =>
    math.max(1, math.round(stage.width.toDouble * slots / planned).toInt) - slots
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = {
    val stage = event.stageInfo
    val waves = stage.numTasks > planned * executors
    if (waves && stage.resourceProfileId == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID) {
      if (searches.size > MostKept) {
        searches = Map.empty
        seen = Map.empty
      }
      val key = keyOf(stage)
      val search = searches.getOrElse(key, StageWidth(planned, now()))
      searches += key -> search
      val began = new Running(key, stage.attemptNumber(), stage.numTasks, cpu())
      began.width = search.width
      running.put(stage.stageId, began)
      if (search.width != planned) keep(foundOf(stage.stageId, search.search))
      if (search.width > planned) revive() // its first tasks were offered the plan's slots
    }
  }

  override def onTaskStart(event: SparkListenerTaskStart): Unit =
    known(event.stageId, event.stageAttemptId).foreach { stage =>
      if (!event.taskInfo.speculative) stage.pending -= 1
      stage.runs += 1
      if (stage.pending == 0) stage.used += cpu() - stage.from
      if (atOnce > 1) mixed = now()
    }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    known(event.stageId, event.stageAttemptId).foreach { stage =>
      if (atOnce > 1) mixed = now()
      stage.runs -= 1
      event.reason match {
        case Success =>
          seen = seen.updatedWith(stage.key)(n => Some(n.getOrElse(0) + 1))
          if (stage.pending > 0 && event.taskInfo.launchTime > mixed)
            Option(event.taskMetrics).foreach(learn(event.stageId, stage, event.taskInfo, _))
        case _: TaskKilled => // another attempt of it has ended, or nobody wants it
        case _ => stage.pending += 1
      }
    }

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit = {
    running.remove(event.stageInfo.stageId)
    ()
  }

  private def known(stageId: Int, attempt: Int): Option[Running] =
    Option(running.get(stageId)).filter(_.attempt == attempt)

  /** Of how many stages tasks run. */
  private def atOnce: Int = running.values.asScala.count(_.runs > 0)

  private def learn(stageId: Int, stage: Running, task: TaskInfo, metrics: TaskMetrics): Unit = {
    val before =
      searches.getOrElse(stage.key, StageWidth(planned, now())) // it may have been dropped
    stage.fullest = math.max(stage.fullest, heap())
    def load = {
      val fullest = stage.fullest
      val now = cpu()
      val busy = (stage.used + (now - stage.from)).of(cpus)
      stage.used = CpuUse()
      stage.from = now
      stage.fullest = 0
      Load(
        busy,
        math.max(stage.pending, seen(stage.key)) / executors,
        () => room(before.width, fullest)
      )
    }
    val ended = before.ended(taskOf(task, metrics), task.launchTime, now(), executors)(load)
    searches += stage.key -> ended
    stage.width = ended.width
    val settles = ended.search.settled && !before.search.settled
    if (ended.width != before.width || settles) {
      tell(foundOf(stageId, ended.search))
    }
    if (ended.width > before.width) revive()
  }

  private def foundOf(stageId: Int, search: WidthSearch): StageWidthFound = {
    val why = if (search.settled) search.reason else ""
    StageWidthFound(stageId, now(), search.width, planned, why)
  }

  private def tell(found: StageWidthFound): Unit = {
    log.info(
      s"Stage ${found.stageId} runs ${found.width} tasks at once in an executor, ${found.planned} by the plan" +
        (if (found.because.isEmpty) "" else s": ${found.because}")
    )
    keep(found)
  }

  private def keep(found: StageWidthFound): Unit = {
    latest = (found +: latest.filterNot(_.stageId == found.stageId)).take(MostShown)
    post(found)
  }

  def table: UiTable = UiTable(
    "Tasks at once",
    s"Of stages for which another number than the plan's was tried; at most the latest $MostShown, newest first.",
    Vector("Stage", "In an executor", "By the plan", "Why"),
    latest.map { found =>
      val why = if (found.because.isEmpty) "still looking" else found.because
      Vector(found.stageId, found.width, found.planned).map(_.toString) :+ why
    }
  )
}

private[numa] object StageWidths {
  private val MostShown = 20

  /** Of searches: an application that makes ever new stages begins anew. */
  private val MostKept = 1000

  /**
   * @param jvms those with tasks
   * @param heaps which part of them is in use, as far as that is known
   * @return none where the user wants none, or the tasks have a native engine's threads besides
   */
  def of(sc: SparkContext, plan: Plan, cpus: IdSet)(
      jvms: () => Iterable[Long],
      heaps: () => Iterable[Double],
      revive: () => Unit
  ): Option[StageWidths] = {
    val wanted = HearthKeys.Width.in(sc.conf.getOption) == HearthKeys.Adaptive
    val engine = Engine.of(sc.conf.getOption)
    if (wanted && engine.nonEmpty)
      DriversLog.warn(
        s"${HearthKeys.Width.name}=${HearthKeys.Adaptive} has no effect beside a native engine, whose threads are its own"
      )
    Option.when(wanted && engine.isEmpty) {
      val planned = math.max(1, (plan.executors.map(_.taskSlots).min / slotsPerTask(sc.conf)).toInt)
      val beside = plan.executors.map(e => (e.memoryMb - e.heapMb - e.offHeapMb) << 20).min
      val trees = new ProcessTrees(jvms)
      val widths = new StageWidths(
        planned,
        plan.executors.size,
        cpus.size,
        () => trees.cpu(),
        () => heaps().maxOption.getOrElse(0.0),
        roomFor(_, _, beside, trees.workersBytes()),
        revive,
        sc.listenerBus.post(_),
        DriversLog
      )
      sc.addSparkListener(widths)
      HearthTab.show(sc, DriversLog)(() => Vector(widths.table))
      widths
    }
  }

  /** A whole number up to Spark 4.2, any from 4.3 on. */
  private[numa] def slotsPerTask(conf: SparkConf): Double =
    conf.getOption(CPUS_PER_TASK.key).flatMap(_.toDoubleOption).getOrElse(1.0)

  /**
   * The widest at which heaps stay two fifths empty, and of what is planned beside them a fifth, if each task takes as
   * much as one does now.
   *
   * @param heap which part of the fullest is in use
   * @param beside bytes planned beside an executor's heap
   * @param workers bytes that the processes beside each JVM have, as Python's
   */
  private[numa] def roomFor(
      width: Int,
      heap: Double,
      beside: Long,
      workers: Iterable[Long]
  ): Int = {
    val parts = heap / 0.6 +: workers.map(_ / (0.8 * beside)).toVector
    (width / math.max(1e-6, parts.max)).toInt
  }

  /** A stage that runs. Its width is read by the scheduler's thread. */
  final private class Running(
      val key: String,
      val attempt: Int,
      var pending: Int,
      var from: CpuUse
  ) {
    @volatile var width = 0
    var runs = 0
    var used: CpuUse = CpuUse()
    var fullest = 0.0
  }

  private def now(): Long = System.currentTimeMillis

  /** Where in the program, and what it reads and makes. */
  private def keyOf(stage: StageInfo): String =
    (stage.name +: stage.rddInfos.map(_.name).distinct.sorted).mkString(" ")

  private def taskOf(info: TaskInfo, metrics: TaskMetrics): EndedTask = {
    val in = metrics.inputMetrics.bytesRead + metrics.shuffleReadMetrics.totalBytesRead
    val records = metrics.inputMetrics.recordsRead + metrics.shuffleReadMetrics.recordsRead
    EndedTask(
      info.duration / 1e3,
      if (in > 0) in else records,
      metrics.executorCpuTime / 1e9,
      metrics.jvmGCTime / 1e3,
      metrics.memoryBytesSpilled > 0
    )
  }
}
