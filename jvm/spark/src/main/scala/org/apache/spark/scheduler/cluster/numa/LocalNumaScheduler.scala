package org.apache.spark.scheduler.cluster.numa

import java.net.InetAddress

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{TaskDescription, TaskSchedulerImpl, WorkerOffer}
import org.apache.spark.util.Utils

/**
 * Spark's scheduler, told that a NUMA node is a host and the machine is a rack: the hosts of the plan and
 * the names under which others (a data node, say) know this machine stand in one rack, nothing else does.
 *
 * @param hosts names of the plan's places
 */
private[spark] class LocalNumaScheduler(sc: SparkContext, hosts: Set[String])
    extends TaskSchedulerImpl(sc)
    with WideStages {

  private val machine: Set[String] = hosts ++ Set(
    "localhost",
    "127.0.0.1",
    Utils.localHostName(),
    Utils.localCanonicalHostName(),
    InetAddress.getLoopbackAddress.getHostAddress
  )

  override def getRacksForHosts(known: Seq[String]): Seq[Option[String]] =
    known.map(host => Option.when(machine.contains(host))(LocalNumaScheduler.Rack))

  @volatile private var started = false

  /** SparkContext goes on while executors start; their tasks wait for them instead. */
  override def postStartHook(): Unit = ()

  /** Whether enough of the first executors are there, as Spark's settings of registered resources say. */
  private def hasStarted: Boolean = {
    // Its endpoint asks as soon as it is there, before the scheduler has been given its backend.
    if (!started) started = Option(backend).exists(_.isReady())
    started
  }

  /** None until the first executors have started, so that the first of them does not get what is for all. */
  override def resourceOffers(
      offers: IndexedSeq[WorkerOffer],
      isAllFreeResources: Boolean
  ): Seq[Seq[TaskDescription]] = synchronized {
    if (hasStarted) super.resourceOffers(asWide(offers), isAllFreeResources) else Seq.empty
  }
}

/** A scheduler whose offers are as wide as the stage that is next is to be (`spark.hearth.width`). */
private[spark] trait WideStages extends TaskSchedulerImpl {

  /** None where stages run as many tasks at once as planned. */
  private[numa] def widths: Option[StageWidths] = None

  /** Slots by the plan; none of an executor that is not known yet. */
  private[numa] def slotsOf(executorId: String): Option[Int] = None

  private lazy val slotsPerTask = StageWidths.slotsPerTask(conf)

  /** With more slots, or fewer; the offers themselves where no stage ever has more than planned. */
  private[numa] def asWide(offers: IndexedSeq[WorkerOffer]): IndexedSeq[WorkerOffer] =
    if (widths.isEmpty) offers
    else {
      val more = wider(offers)
      offers.map(o => LocalNumaScheduler.widened(o, more.getOrElse(o.executorId, 0)))
    }

  /**
   * How many more slots each executor has now; fewer, if negative. What a stage of tasks that must all run at once gets
   * is the plan's.
   */
  private def wider(offers: IndexedSeq[WorkerOffer]): Map[String, Int] = {
    val next = for {
      of <- widths
      pool <- Option(rootPool)
      tasks <- pool.getSortedTaskSetQueue.find(t =>
        !t.isZombie && t.runningTasks + t.tasksSuccessful < t.numTasks
      ) if !tasks.isBarrier
    } yield (of, tasks.stageId)
    next.fold(Map.empty[String, Int]) { case (of, stage) =>
      val runs = runningTasksByExecutors
      val more = for {
        offer <- offers
        slots <- slotsOf(offer.executorId)
        // Without either it has registered and not started: its free slots are counted anew when it has.
        if runs.getOrElse(offer.executorId, 0) > 0 || LocalNumaScheduler.free(offer) > 0
        tasks = of.more(stage, (slots / slotsPerTask).toInt)
      } yield offer.executorId -> math.ceil(tasks * slotsPerTask).toInt
      more.toMap
    }
  }
}

private[spark] object LocalNumaScheduler {

  /** The slots of an offer are an Int up to Spark 4.2 and a BigDecimal from 4.3 on (SPARK-58192), so it is copied by its parts. */
  private[numa] def widened(offer: WorkerOffer, slots: Int): WorkerOffer = {
    val parts = offer.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val own = parts(Cores)
    parts(Cores) = own match {
      case cores: Integer => Integer.valueOf(math.max(0, cores + slots))
      case cores: BigDecimal => (cores + slots).max(0)
      case other => throw new IllegalStateException(s"slots of an executor: $other")
    }
    if (parts(Cores) == own) offer
    else classOf[WorkerOffer].getConstructors.head.newInstance(parts: _*).asInstanceOf[WorkerOffer]
  }

  private[numa] def free(offer: WorkerOffer): Double = offer.productElement(Cores).toString.toDouble

  /** The third part of an offer. */
  private val Cores = 2
  val Rack: String = "/machine"
}
