package io.hearth.core.placement

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/** CPUs that a run's record (`hearth schema hand-over`) says are on loan now; none where it has none. */
object LentCpus {
  val File = "hand-over.json"

  /** Those that executors have beyond their own. */
  def toExecutors(runDirectory: Path): Map[String, IdSet] = {
    val open = for {
      text <- Try(Files.readString(runDirectory.resolve(File))).toOption.toVector
      document <- Try(Json.parse(text, File)).toOption.toVector
      loan <- document.path("loans").elements.asScala.toVector if !loan.hasNonNull("until")
      cpus <- IdSet.parse(loan.path("cpus").asText).toOption if cpus.nonEmpty
    } yield loan.path("executor_id").asText -> cpus
    open.groupMapReduce(_._1)(_._2)(_ | _)
  }
}
