package io.hearth.driver

import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.placement.{Finding, PlacementReport}
import io.hearth.core.plan.{ExecutorPlan, Plan, PlanLease, PlanMode}
import io.hearth.core.topology.IdSet

/**
 * What an application's driver knows of its plan, placement, lease and loans, as tables. It reads nothing: each
 * report is handed in when it is made.
 *
 * @param plan as it may be shown
 * @param running executors of the pool, one in each place at most
 */
final class ApplicationTables(plan: Plan, leased: Leased, running: () => Vector[RunningExecutor]) {
  import ApplicationTables._

  private val placement = new AtomicReference(Option.empty[PlacementReport])
  private val loans = new AtomicReference(Option.empty[JsonNode])

  def placementTaken(report: PlacementReport): Unit = placement.set(Some(report))
  def loansChanged(record: JsonNode): Unit = loans.set(Some(record))

  def all: Vector[UiTable] = Vector(executors(placement.get), lease, loansOf(loans.get), decisions)

  /** Where the lease is somebody else's business. */
  def withoutLease: Vector[UiTable] = Vector(executors(placement.get), decisions)

  private def executors(report: Option[PlacementReport]): UiTable = {
    val findings = report.toVector.flatMap(_.findings).map(f => f.subject.executorId -> f).toMap
    val here = running().map(executor => executor.place.id -> executor).toMap
    UiTable(
      "Executors",
      if (plan.mode == PlanMode.Native) "The plan is one JVM, which is not bound."
      else report.fold("Not read from the kernel yet.")(r => s"Read from the kernel at ${at(r)}."),
      Vector("Place", "Executor", "PID", "Host", "Task slots", "CPUs", "Memory nodes") ++
        Vector("Local memory", "Verdict"),
      plan.executors.map { place =>
        val executor = here.get(place.id)
        row(place, executor, executor.flatMap(e => findings.get(e.id)))
      }
    )
  }

  private def row(
      place: ExecutorPlan,
      executor: Option[RunningExecutor],
      finding: Option[Finding]
  ): Vector[String] = Vector(
    place.id.toString,
    executor.fold(if (plan.mode == PlanMode.Native) "driver" else Unknown)(_.id),
    executor.fold(Unknown)(_.process.pid.toString),
    place.host,
    place.taskSlots.toString,
    place.cpus.toString + finding
      .map(_.subject.lent)
      .filter(_.nonEmpty)
      .fold("")(l => s" and $l, lent"),
    place.memoryNodes.toString,
    finding.fold(Unknown)(localShare(_, place.memoryNodes)),
    finding.fold(if (executor.isEmpty) Unknown else "not read yet")(verdict)
  )

  private def lease: UiTable = {
    val state =
      if (leased.lease.isEmpty) "This application has no lease: others cannot see what it takes."
      else if (leased.unbound) "Nothing was free: this application runs unbound beside others."
      else "These CPUs are this application's own."
    UiTable(
      "Lease",
      s"$state 'hearth status --leases' shows those of all applications.",
      Vector("CPUs", "Memory"),
      leased.lease.toVector.map { _ =>
        val cpus = if (leased.unbound) IdSet.empty else PlanLease.cpus(plan)
        Vector(shown(cpus), memory(PlanLease.memoryBytes(plan)))
      }
    )
  }

  private def decisions = UiTable(
    "Plan",
    s"The master ${plan.master}; 'hearth plan --explain' has more of each decision.",
    Vector("Decision", "Value", "Why", "Source"),
    plan.reasons.map(r => Vector(r.decision, r.value, r.because, r.source).map(plain))
  )
}

object ApplicationTables {

  /** In a cell of which nothing is known. */
  private val Unknown = "–"

  /** Reasons mark commands as Markdown does. */
  private def plain(text: String): String = text.replace('`', '\'')

  private def shown(ids: IdSet): String = if (ids.isEmpty) "none" else ids.toString

  private def at(report: PlacementReport): String = s"${report.takenAt.toString.take(19)}Z"

  private def memory(bytes: Map[Int, Long]): String =
    bytes.toVector.sorted.map { case (node, b) => s"node $node: ${b >> 20} MB" }.mkString(", ")

  /** Of what the kernel says of an executor's anonymous memory, how much lies on the nodes of its place. */
  private def localShare(finding: Finding, nodes: IdSet): String =
    finding.reading.flatMap(_.toOption).filter(_.anonymousTotal > 0).fold(Unknown) { actual =>
      val local = actual.anonymousBytes.collect { case (node, b) if nodes.contains(node) => b }.sum
      s"${local * 100 / actual.anonymousTotal} % of ${actual.anonymousTotal >> 20} MB"
    }

  private def verdict(finding: Finding): String =
    if (finding.drift.isEmpty) finding.verdict.text
    else finding.drift.map(_.sentence).mkString("drift: ", "; ", "")

  /** @param record `hearth schema hand-over` */
  private def loansOf(record: Option[JsonNode]): UiTable = {
    val all = record.toVector.flatMap(_.path("loans").elements.asScala).map { loan =>
      val times = Vector("since", "until").map(loan.path(_).asText.take(19))
      Vector(
        loan.path("cpus").asText,
        loan.path("from_places").elements.asScala.map(_.asText).mkString("places ", ", ", ""),
        s"executor ${loan.path("executor_id").asText}",
        times.head,
        if (times(1).isEmpty) "now" else times(1)
      )
    }
    UiTable(
      "Loans of idle CPUs",
      if (all.isEmpty) "None." else s"At most the latest $MaxLoans, newest first.",
      Vector("CPUs", "From", "To", "Since (UTC)", "Until (UTC)"),
      all.sortBy(_(3)).reverse.take(MaxLoans)
    )
  }

  private val MaxLoans = 20
}
