package io.hearth.core.cli

import java.nio.file.Path

import scala.jdk.OptionConverters._

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.placement.PlacementReport

/** `placement --run DIR --driver PID`: where the executors of a run are now, from the kernel. */
object PlacementVerb {
  def apply(args: Vector[String]): String = args match {
    case Vector("--run", directory, "--driver", pid) if pid.toLongOption.isDefined =>
      val own = Set(pid.toLong, ProcessHandle.current.pid) ++ whoAsks
      Json.pretty(PlacementReport.retake(Path.of("/"), Path.of(directory), own).toJson)
    case other =>
      throw new UserError(
        s"placement takes --run DIRECTORY --driver PID, not '${other.mkString(" ")}'"
      )
  }

  private def whoAsks: Option[Long] = ProcessHandle.current.parent.toScala.map(_.pid)
}
