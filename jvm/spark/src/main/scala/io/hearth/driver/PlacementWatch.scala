package io.hearth.driver

import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import io.hearth.core.launch.Binding
import io.hearth.core.placement.{Finding, PlacementReport, PlacementVerdict, Subject}
import io.hearth.core.topology.IdSet

/** What is to be done about the placement of executors now. */
sealed trait PlacementStep

object PlacementStep {
  case object Wait extends PlacementStep

  /** At the threads alone. */
  case object Look extends PlacementStep

  /** All there is, with a table for the log. */
  case object ReadNew extends PlacementStep
}

/**
 * What is known of the placement of an application's executors, and when it is to be known better: when it is looked
 * at (see `PlacementSample`) and when all of it is read. Pure; times are of
 * `System.nanoTime`.
 *
 * @param intervalNanos between two looks; 0 for none
 * @param lastLook when it was looked at, or read, last
 * @param lastReading when all of it was read last
 * @param readingNanos how long that took, at most as much as one CPU's time
 * @param reported executors of the last report
 * @param drifted those of them that were not where they should be
 * @param deviations in which ways executors deviated, by id, when all was read after a look
 */
final case class PlacementKnowledge(
    intervalNanos: Long,
    lastLook: Long,
    lastReading: Long,
    readingNanos: Long = 0,
    reported: Set[String] = Set.empty,
    drifted: Set[String] = Set.empty,
    deviations: Map[String, Set[String]] = Map.empty
) {
  import PlacementKnowledge._
  import PlacementStep._

  /** @param registered executors that run and that Spark's scheduler knows */
  def next(registered: Set[String], now: Long): PlacementStep =
    if (!registered.subsetOf(reported)) ReadNew
    else if (registered.nonEmpty && intervalNanos > 0 && now - lastLook >= intervalNanos) Look
    else Wait

  def looked(now: Long): PlacementKnowledge = copy(lastLook = now)

  /** @param deviating in which ways executors deviate, from a look */
  def readingDue(deviating: Map[String, Set[String]], now: Long): Boolean = {
    val pause =
      if (deviating != deviations) PauseWhenChanged * readingNanos
      else math.max(LooksToReading * intervalNanos, Pause * readingNanos)
    now - lastReading >= pause
  }

  /** After a reading from `start` to `end`. */
  def read(report: PlacementReport, start: Long, end: Long): PlacementKnowledge = copy(
    lastLook = end,
    lastReading = end,
    readingNanos = end - start,
    reported = report.findings.map(_.subject.executorId).toSet,
    drifted = report.findings.filter(_.drift.nonEmpty).map(_.subject.executorId).toSet
  )

  /** What a report says that is news: a warning, or that an executor is where it should be again. */
  def news(finding: Finding): Option[Either[String, String]] = {
    val id = finding.subject.executorId
    if (finding.drift.nonEmpty) Some(Left(finding.warning))
    else
      Option.when(drifted.contains(id) && finding.verdict == PlacementVerdict.AsPlanned)(
        Right(s"Executor $id is back in its planned place")
      )
  }
}

private object PlacementKnowledge {

  /** Looks from one reading to the next at least. */
  val LooksToReading: Int = 24

  /** A reading waits for this many times as long as the last took: a thousandth of one CPU at most. */
  val Pause: Int = 1000

  /** The same when something has changed: a hundredth of one CPU at most, should it change again and again. */
  val PauseWhenChanged: Int = 100
}

/**
 * Reads back from the kernel where the executors are: whenever one has registered, when a look at their
 * threads shows a change, seldom otherwise, and once more before they stop. The report goes into the run's
 * record, a table into the log, drift into a warning.
 *
 * @param clock owns what is known; it ends with the watch
 * @param nanoTime as of `System.nanoTime`
 * @param taken is given each report
 * @param lent CPUs of other places that an executor may use, or could since a time of `System.nanoTime`
 */
final class PlacementWatch(
    appId: String,
    running: () => Vector[RunningExecutor],
    intervalNanos: Long,
    kernel: Kernel,
    taken: PlacementReport => Unit,
    lent: (String, Long) => IdSet,
    clock: ScheduledExecutorService,
    nanoTime: () => Long,
    log: Log
) {
  // Owned by the clock's thread; close() takes over after that has ended.
  private var known = PlacementKnowledge(intervalNanos, nanoTime(), nanoTime())
  private val unattended = new Unattended("The placement of executors could not be read", log)
  @volatile private var registered: () => Set[String] = () => Set.empty

  /** @param executors ids of those that Spark's scheduler knows */
  def start(executors: () => Set[String]): Unit = {
    registered = executors
    val every = PlacementWatch.TickMillis
    clock.scheduleWithFixedDelay(() => unattended(tick()), every, every, TimeUnit.MILLISECONDS)
    ()
  }

  /** Takes a last report while the executors still run. */
  def close(): Unit = {
    clock.shutdown()
    clock.awaitTermination(PlacementWatch.CloseSeconds, TimeUnit.SECONDS)
    unattended(take(executors, asTable = known.reported.isEmpty))
  }

  private def executors: Vector[RunningExecutor] = {
    val ids = registered()
    running().filter(m => ids.contains(m.id))
  }

  private def tick(): Unit = {
    val now = executors
    known.next(now.map(_.id).toSet, nanoTime()) match {
      case PlacementStep.ReadNew => take(now, asTable = true)
      case PlacementStep.Look => look(now)
      case PlacementStep.Wait =>
    }
  }

  private def look(executors: Vector[RunningExecutor]): Unit = {
    known = known.looked(nanoTime())
    val deviating = deviations(executors)
    if (known.readingDue(deviating, nanoTime())) {
      take(executors, asTable = false)
      known = known.copy(deviations = deviating)
    }
  }

  /** In which ways each bound executor deviates, from a look; no entry for one without. */
  private def deviations(executors: Vector[RunningExecutor]): Map[String, Set[String]] = {
    val start = nanoTime()
    for {
      executor <- executors if executor.bound
      sample <- kernel.sample(executor.process.pid)
      subject = PlacementWatch.subject(executor)
      ways = sample.deviations(subject.planned, lent(executor.id, start)) if ways.nonEmpty
    } yield executor.id -> ways
  }.toMap

  private def take(executors: Vector[RunningExecutor], asTable: Boolean): Unit = if (
    executors.nonEmpty
  ) {
    val start = nanoTime()
    val read = kernel.placement(appId, executors.map(PlacementWatch.subject))
    // What is lent or taken back during a reading counts as lent.
    val findings = read.findings.map(f =>
      f.copy(subject = f.subject.copy(lent = lent(f.subject.executorId, start)))
    )
    val report = read.copy(findings = findings)
    if (asTable) log.info(report.table.mkString("Placement, from the kernel:\n", "\n", ""))
    report.findings.flatMap(known.news).foreach(_.fold(log.warn, log.info))
    known = known.read(report, start, nanoTime())
    taken(report)
  }
}

object PlacementWatch {
  private val TickMillis = 500L
  private val CloseSeconds = 10L

  private def subject(executor: RunningExecutor): Subject = Subject(
    executor.id,
    executor.place.id,
    executor.place.host,
    executor.process.pid,
    executor.startTicks,
    executor.binding.getOrElse(Binding(executor.place.cpus, IdSet.empty)),
    executor.bound
  )
}
