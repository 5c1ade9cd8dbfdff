package io.hearth.lending

import java.time.Instant

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{IntNode, ObjectNode}

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
 * The loans of an application (`contract/hand-over.schema.json`), the latest of them one by one.
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

  def toJson: ObjectNode = {
    val node = Json.obj().put("schema", HandOverRecord.Schema).put("app_id", appId)
    node.put("number", number).put("cpu_seconds", math.round(cpuSeconds * 1000) / 1000.0)
    node.set[ObjectNode]("loans", Json.array(loans.map(HandOverRecord.loanJson)))
    if (lentOut.nonEmpty)
      node.set[ObjectNode]("lent_out", Json.array(lentOut.map(HandOverRecord.lentJson)))
    node
  }
}

object HandOverRecord {
  val Schema = "hearth/hand-over/1"

  /** A long application has thousands, and the document is written anew with each. */
  val Kept = 200

  def empty(appId: String): HandOverRecord = HandOverRecord(appId, 0, 0.0, Vector.empty)

  private def lentJson(loan: OutgoingGrant): JsonNode = {
    val node = Json.obj().put("place", loan.place).put("cpus", loan.cpus.toString)
    node.put("app_id", loan.to.appId).put("user", loan.to.user)
    node.put("executor_id", loan.executorId).put("since", loan.since.toString)
    loan.until.foreach(end => node.put("until", end.toString))
    node
  }

  private def loanJson(loan: Grant): JsonNode = {
    val node = Json.obj().put("executor_id", loan.executorId).put("place", loan.place)
    node.put("cpus", loan.cpus.toString)
    node.set[JsonNode]("from_places", Json.array(loan.lenders.map(IntNode.valueOf)))
    loan.from.foreach(other =>
      node.set[JsonNode](
        "from_application",
        Json.obj().put("app_id", other.appId).put("user", other.user)
      )
    )
    node.put("since", loan.since.toString)
    loan.until.foreach(end => node.put("until", end.toString))
    node
  }
}
