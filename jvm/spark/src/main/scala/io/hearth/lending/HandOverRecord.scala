package io.hearth.lending

import java.time.Instant

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/** Another application, by its id and its user. */
final case class OtherApplication(appId: String, user: String) {
  def who: String = s"application $appId of $user"
}

/**
 * CPUs of idle places, open to an executor for a while.
 *
 * @param place that of the executor
 * @param lenders the places whose CPUs they are, of the same application or of the one they are from
 * @param from whose they are, where that is another application
 * @param until absent while they are
 */
final case class Grant(
    executorId: String,
    place: Int,
    cpus: IdSet,
    lenders: Vector[Int],
    since: Instant,
    until: Option[Instant],
    from: Option[OtherApplication] = None
)

/**
 * CPUs of a place of this application's that another one's executor may use for a while.
 *
 * @param id of the loan, for as long as it lasts
 * @param executorId that of the other application
 */
final case class OutgoingGrant(
    id: String,
    place: Int,
    cpus: IdSet,
    to: OtherApplication,
    executorId: String,
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
    loans: Vector[Grant],
    lentOut: Vector[OutgoingGrant] = Vector.empty
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

  /** With one to another application, by its id, that has begun or ended. */
  def updated(loan: OutgoingGrant): HandOverRecord = copy(lentOut =
    if (lentOut.exists(_.id == loan.id)) lentOut.map(l => if (l.id == loan.id) loan else l)
    else (lentOut :+ loan).takeRight(HandOverRecord.Kept)
  )

  def toJson: ObjectNode = Json.obj(
    "schema" -> HandOverRecord.Schema,
    "app_id" -> appId,
    "number" -> number,
    "cpu_seconds" -> math.round(cpuSeconds * 1000) / 1000.0,
    "loans" -> loans.map(HandOverRecord.loanJson),
    "lent_out" -> Option.when(lentOut.nonEmpty)(lentOut.map(HandOverRecord.lentJson))
  )
}

object HandOverRecord {
  val Schema = "hearth/hand-over/1"

  /** A long application has thousands, and the document is written anew with each. */
  val Kept = 200

  def empty(appId: String): HandOverRecord = HandOverRecord(appId, 0, 0.0, Vector.empty)

  private def lentJson(loan: OutgoingGrant): ObjectNode = Json.obj(
    "place" -> loan.place,
    "cpus" -> loan.cpus,
    "app_id" -> loan.to.appId,
    "user" -> loan.to.user,
    "executor_id" -> loan.executorId,
    "since" -> loan.since.toString,
    "until" -> loan.until.map(_.toString)
  )

  private def loanJson(loan: Grant): ObjectNode = Json.obj(
    "executor_id" -> loan.executorId,
    "place" -> loan.place,
    "cpus" -> loan.cpus,
    "from_places" -> loan.lenders,
    "from_application" -> loan.from.map(o => Json.obj("app_id" -> o.appId, "user" -> o.user)),
    "since" -> loan.since.toString,
    "until" -> loan.until.map(_.toString)
  )
}
