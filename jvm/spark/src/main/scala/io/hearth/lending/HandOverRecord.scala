package io.hearth.lending

import java.time.Instant

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/**
 * CPUs of idle places, open to an executor for a while.
 *
 * @param place that of the executor
 * @param lenders the places whose CPUs they are
 * @param until absent while they are
 */
final case class Grant(
    executorId: String,
    place: Int,
    cpus: IdSet,
    lenders: Vector[Int],
    since: Instant,
    until: Option[Instant]
)

/**
 * The loans of an application (`hearth schema hand-over`), the latest of them one by one.
 *
 * @param number of all of them
 * @param cpuSeconds of all that have ended: CPUs lent, times the seconds for which they were
 */
final case class HandOverRecord(
    appId: String,
    number: Int,
    cpuSeconds: Double,
    loans: Vector[Grant]
) {

  /** With one that has begun or ended; one that is known by its executor and its beginning is replaced. */
  def updated(loan: Grant): HandOverRecord = {
    def same(other: Grant) = other.executorId == loan.executorId &&
      other.since == loan.since && other.cpus == loan.cpus
    val known = loans.exists(same)
    val seconds = loan.until.fold(0.0)(end =>
      loan.cpus.size * java.time.Duration.between(loan.since, end).toMillis / 1000.0
    )
    copy(
      number = number + (if (known) 0 else 1),
      cpuSeconds = cpuSeconds + seconds,
      loans =
        if (known) loans.map(l => if (same(l)) loan else l)
        else (loans :+ loan).takeRight(HandOverRecord.Kept)
    )
  }

  def toJson: ObjectNode = Json.obj(
    "schema" -> HandOverRecord.Schema,
    "app_id" -> appId,
    "number" -> number,
    "cpu_seconds" -> math.round(cpuSeconds * 1000) / 1000.0,
    "loans" -> loans.map(HandOverRecord.loanJson)
  )
}

object HandOverRecord {
  val Schema = "hearth/hand-over/1"

  /** A long application has thousands, and the document is written anew with each. */
  val Kept = 200

  def empty(appId: String): HandOverRecord = HandOverRecord(appId, 0, 0.0, Vector.empty)

  private def loanJson(loan: Grant): ObjectNode = Json.obj(
    "executor_id" -> loan.executorId,
    "place" -> loan.place,
    "cpus" -> loan.cpus,
    "from_places" -> loan.lenders,
    "since" -> loan.since.toString,
    "until" -> loan.until.map(_.toString)
  )
}
