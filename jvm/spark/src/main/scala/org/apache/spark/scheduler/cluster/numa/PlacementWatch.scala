package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Path
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging
import org.apache.spark.util.{ThreadUtils, Utils}

import io.hearth.core.launch.Binding
import io.hearth.core.placement.{Finding, Glance, PlacementReport, Subject}
import io.hearth.spark.{ExecutorPool, Member, PlacementSchedule}

/**
 * Reads back from the kernel where the executors are: whenever one has registered, when a look at their
 * threads shows a change, seldom otherwise, and once more before they stop. The report goes into the run's
 * record, a table into the log, drift into a warning.
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
  private var schedule = PlacementSchedule.start(interval, System.nanoTime)
  private var reported = Set.empty[String]
  private var drifted = Set.empty[String]
  private var seen = Map.empty[String, Set[String]]

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
    if (now.exists(m => !reported.contains(m.id))) takeWithDriver(now, asTable = true)
    else if (now.nonEmpty && schedule.lookDue(System.nanoTime)) look(now)
  }

  private def look(members: Vector[Member]): Unit = {
    schedule = schedule.looked(System.nanoTime)
    val found = deviations(members)
    if (schedule.readingDue(System.nanoTime, changed = found != seen)) {
      takeWithDriver(members, asTable = false)
      seen = found
    }
  }

  /** In which ways each bound executor deviates, from a look; no entry for one without. */
  private def deviations(members: Vector[Member]): Map[String, Set[String]] = {
    for {
      member <- members if member.bound
      glance <- Glance.at(member.process.pid)
      ways = glance.deviations(subject(member).planned) if ways.nonEmpty
    } yield member.id -> ways
  }.toMap

  private def takeWithDriver(members: Vector[Member], asTable: Boolean): Unit = {
    take(members, asTable)
    application.tellReaperOfDriver()
  }

  private def take(members: Vector[Member], asTable: Boolean): Unit = if (members.nonEmpty) {
    val start = System.nanoTime
    val report = PlacementReport.take(Path.of("/"), application.appId, members.map(subject))
    schedule = schedule.read(start, System.nanoTime)
    reported = members.map(_.id).toSet
    if (asTable) logInfo(report.table.mkString("Placement, from the kernel:\n", "\n", ""))
    report.findings.foreach(tell)
    drifted = report.findings.filter(_.drift.nonEmpty).map(_.subject.executorId).toSet
    application.record(report)
  }

  private def tell(finding: Finding): Unit = {
    val id = finding.subject.executorId
    if (finding.drift.nonEmpty) logWarning(finding.warning)
    else if (drifted.contains(id) && finding.verdict == "as planned")
      logInfo(s"Executor $id is where the plan says again")
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
