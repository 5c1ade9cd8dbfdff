package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Path
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging
import org.apache.spark.util.{ThreadUtils, Utils}

import io.hearth.core.launch.Binding
import io.hearth.core.placement.{PlacementReport, Subject}
import io.hearth.spark.{ExecutorPool, Member}

/**
 * Reads back from the kernel where the executors are: whenever one has registered, at intervals, and once
 * more before they stop. The report goes into the run's record, a table into the log, drift into a warning.
 *
 * @param registered ids of the executors that the scheduler knows
 */
private[spark] class PlacementWatch(
    application: RunningApplication,
    pool: ExecutorPool,
    registered: () => Seq[String],
    conf: SparkConf
) extends Logging {

  private val interval = TimeUnit.SECONDS.toNanos(conf.get(HearthConfig.PlacementInterval))
  private val clock: ScheduledExecutorService =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("hearth-placement")

  // Owned by the clock's thread; close() takes over after that has ended.
  private var reported = Set.empty[String]
  private var lastTaken = System.nanoTime

  def start(): Unit = {
    clock.scheduleWithFixedDelay(
      () => Utils.tryLogNonFatalError(tick()),
      500,
      500,
      TimeUnit.MILLISECONDS
    )
    ()
  }

  /** Takes a last report while the executors still run. */
  def close(): Unit = {
    clock.shutdown()
    clock.awaitTermination(10, TimeUnit.SECONDS)
    Utils.tryLogNonFatalError(take(members, asTable = reported.isEmpty))
  }

  private def members: Vector[Member] = {
    val ids = registered().toSet
    pool.running.filter(m => ids.contains(m.id))
  }

  private def tick(): Unit = {
    val now = members
    val fresh = now.exists(m => !reported.contains(m.id))
    val due = interval > 0 && System.nanoTime - lastTaken >= interval
    if (now.nonEmpty && (fresh || due)) {
      take(now, asTable = fresh)
      application.tellReaperOfDriver()
    }
  }

  private def take(members: Vector[Member], asTable: Boolean): Unit = if (members.nonEmpty) {
    val report = PlacementReport.take(Path.of("/proc"), application.appId, members.map(subject))
    application.record(report)
    reported = members.map(_.id).toSet
    lastTaken = System.nanoTime
    if (asTable) logInfo(report.table.mkString("Placement, from the kernel:\n", "\n", ""))
    report.findings.filter(_.drift.nonEmpty).foreach { finding =>
      logWarning(
        s"Executor ${finding.subject.executorId} has drifted: it ${finding.drift.mkString("; it ")}"
      )
    }
  }

  private def subject(member: Member): Subject = {
    val place = member.place
    val planned = Binding(place.cpus, place.memoryNodes)
    Subject(
      member.id,
      place.id,
      place.host,
      member.process.pid,
      member.startTicks,
      planned,
      member.bound
    )
  }
}
