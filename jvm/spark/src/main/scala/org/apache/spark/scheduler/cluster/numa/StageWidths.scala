package org.apache.spark.scheduler.cluster.numa

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.{SparkConf, SparkContext, Success}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.internal.config.CPUS_PER_TASK
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.scheduler._

import io.hearth.core.plan.{Engine, HearthKeys, Plan}
import io.hearth.core.topology.IdSet
import io.hearth.driver.Log
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
 * @param executors of the plan, and their CPUs
 * @param room the widest that memory allows, at a width now
 * @param revive tells the scheduler that there are more slots
 */
final private[numa] class StageWidths(
    planned: Int,
    executors: Int,
    cpus: IdSet,
    room: Int => Int,
    revive: () => Unit,
    log: Log
) extends SparkListener {
  import StageWidths._

  private val running = new ConcurrentHashMap[Int, Running]
  private var searches = Map.empty[String, StageWidth]
  private var seen = Map.empty[String, Int]
  private var mixed = 0L

  /** How many more tasks than planned an executor of so many slots may run of a stage; fewer, if negative. */
  def more(stageId: Int, slots: Int): Int = Option(running.get(stageId)).fold(0) { stage =>
    math.max(1, math.round(stage.width.toDouble * slots / planned).toInt) - slots
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = {
    val stage = event.stageInfo
    if (stage.resourceProfileId == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID) {
      val key = keyOf(stage)
      val search = searches.getOrElse(key, StageWidth(planned, now()))
      searches += key -> search
      running.put(stage.stageId, new Running(key, stage.numTasks, search.width, CpuTicks.of(cpus)))
    }
  }

  override def onTaskStart(event: SparkListenerTaskStart): Unit =
    Option(running.get(event.stageId)).foreach { stage =>
      stage.pending -= 1
      stage.runs += 1
      if (stage.pending == 0) stage.busy += CpuTicks.of(cpus) - stage.from
      if (running.values.stream.filter(_.runs > 0).count > 1) mixed = now()
    }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    Option(running.get(event.stageId)).foreach { stage =>
      val alone = running.values.stream.filter(_.runs > 0).count == 1
      stage.runs -= 1
      if (!alone) mixed = now()
      if (event.reason != Success) stage.pending += 1
      else {
        seen = seen.updatedWith(stage.key)(n => Some(n.getOrElse(0) + 1))
        if (stage.pending > 0 && event.taskInfo.launchTime > mixed)
          Option(event.taskMetrics).foreach(learn(event.stageId, stage, event.taskInfo, _))
      }
    }

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit = {
    running.remove(event.stageInfo.stageId)
    ()
  }

  private def learn(stageId: Int, stage: Running, task: TaskInfo, metrics: TaskMetrics): Unit = {
    val before = searches(stage.key)
    def load = {
      val ticks = CpuTicks.of(cpus)
      val busy = (stage.busy + (ticks - stage.from)).busy
      stage.busy = CpuTicks()
      stage.from = ticks
      Load(busy, math.max(stage.pending, seen(stage.key)) / executors, room(before.width))
    }
    val ended = before.ended(taskOf(task, metrics), task.launchTime, now(), executors)(load)
    searches += stage.key -> ended
    if (ended.width != before.width) {
      stage.width = ended.width
      log.info(s"Stage $stageId: ${ended.width} tasks at once in an executor, were ${before.width}")
      if (ended.width > before.width) revive()
    } else if (ended.search.settled && !before.search.settled)
      log.info(s"Stage $stageId ${ended.search.sentence}")
  }
}

private[numa] object StageWidths {

  /**
   * @param jvms those with tasks, and how full their heaps are, as far as that is known
   * @return none where the user wants none, or the tasks have a native engine's threads besides
   */
  def of(sc: SparkContext, plan: Plan, cpus: IdSet)(
      jvms: () => Iterable[(Long, Option[HeapUse])],
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
      val workers = new WorkersMemory
      val least = plan.executors.map(e => (e.memoryMb - e.heapMb - e.offHeapMb) << 20).min
      def room(width: Int) = {
        val now = jvms()
        roomFor(width, now.flatMap(_._2), least, now.map(jvm => workers.of(jvm._1)))
      }
      val widths = new StageWidths(planned, plan.executors.size, cpus, room, revive, DriversLog)
      sc.addSparkListener(widths)
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
   * @param beside bytes planned beside an executor's heap
   * @param workers bytes that the processes beside each JVM have, as Python's
   */
  private[numa] def roomFor(
      width: Int,
      heaps: Iterable[HeapUse],
      beside: Long,
      workers: Iterable[Long]
  ): Int = {
    val parts = heaps.map(heap => heap.live / (0.6 * heap.most)) ++ workers.map(_ / (0.8 * beside))
    (width / math.max(1e-6, parts.maxOption.getOrElse(1.0))).toInt
  }

  /** A stage that runs. Widths are read by the scheduler's thread. */
  final private class Running(
      val key: String,
      @volatile var pending: Int,
      @volatile var width: Int,
      var from: CpuTicks
  ) {
    @volatile var runs = 0
    var busy: CpuTicks = CpuTicks()
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
