package io.hearth.core.placement

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
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
final case class Loan(
    executorId: String,
    place: Int,
    cpus: IdSet,
    lenders: Vector[Int],
    since: Instant,
    until: Option[Instant]
)

/**
 * The loans of an application (`contract/hand-over.schema.json`), the latest of them one by one.
 *
 * @param number of all of them
 * @param cpuSeconds of all that have ended: CPUs lent, times the seconds for which they were
 */
final case class LoanRecord(
    appId: String,
    number: Int,
    cpuSeconds: Double,
    loans: Vector[Loan]
) {

  /** With one that has begun or ended; one that is known by its executor and its beginning is replaced. */
  def updated(loan: Loan): LoanRecord = {
    def same(other: Loan) = other.executorId == loan.executorId && other.since == loan.since
    val known = loans.exists(same)
    val seconds = loan.until.fold(0.0)(end =>
      loan.cpus.size * java.time.Duration.between(loan.since, end).toMillis / 1000.0
    )
    LoanRecord(
      appId,
      number + (if (known) 0 else 1),
      cpuSeconds + seconds,
      if (known) loans.map(l => if (same(l)) loan else l)
      else (loans :+ loan).takeRight(LoanRecord.Kept)
    )
  }

  def toJson: ObjectNode = {
    val node = Json.obj().put("schema", LoanRecord.Schema).put("app_id", appId)
    node.put("number", number).put("cpu_seconds", math.round(cpuSeconds * 1000) / 1000.0)
    node.set[ObjectNode](
      "loans",
      Json.array(loans)((array, loan) => array.add(LoanRecord.loanJson(loan)))
    )
  }
}

object LoanRecord {
  val Schema = "hearth/hand-over/1"
  val File = "hand-over.json"

  /** A long application has thousands, and the document is written anew with each. */
  val Kept = 200

  def empty(appId: String): LoanRecord = LoanRecord(appId, 0, 0.0, Vector.empty)

  /** CPUs that executors have on loan now, by a run's record; none where it has no such document. */
  def openIn(runDirectory: Path): Map[String, IdSet] = {
    val loans = for {
      text <- Try(Files.readString(runDirectory.resolve(File))).toOption.toVector
      document <- Try(Json.parse(text, File)).toOption.toVector
      loan <- document.path("loans").elements.asScala.toVector if !loan.hasNonNull("until")
      cpus <- IdSet.parse(loan.path("cpus").asText).toOption if cpus.nonEmpty
    } yield loan.path("executor_id").asText -> cpus
    loans.groupMapReduce(_._1)(_._2)(_ | _)
  }

  private def loanJson(loan: Loan): JsonNode = {
    val node = Json.obj().put("executor_id", loan.executorId).put("place", loan.place)
    node.put("cpus", loan.cpus.toString)
    node.set[JsonNode]("from_places", Json.array(loan.lenders)(_.add(_)))
    node.put("since", loan.since.toString)
    loan.until.foreach(end => node.put("until", end.toString))
    node
  }
}
