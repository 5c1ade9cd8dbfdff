package io.hearth.core.placement

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/** CPUs that a run's record (`hearth schema hand-over`) says are on loan now; none where it has none. */
object LentCpus {
  val File = "hand-over.json"

  /** Those that executors have beyond their own. */
  def toExecutors(runDirectory: Path): Map[String, IdSet] = open(runDirectory, "loans")
    .map { case (loan, cpus) => loan.path("executor_id").asText -> cpus }
    .groupMapReduce(_._1)(_._2)(_ | _)

  /** Those of its own that other applications may use. */
  def toOthers(runDirectory: Path): IdSet = IdSet.union(open(runDirectory, "lent_out").map(_._2))

  private def open(runDirectory: Path, list: String): Vector[(JsonNode, IdSet)] = for {
    text <- Try(Files.readString(runDirectory.resolve(File))).toOption.toVector
    document <- Try(Json.parse(text, File)).toOption.toVector
    loan <- document.path(list).elements.asScala.toVector if !loan.hasNonNull("until")
    cpus <- IdSet.parse(loan.path("cpus").asText).toOption if cpus.nonEmpty
  } yield loan -> cpus
}
