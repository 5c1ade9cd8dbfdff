package io.hearth.core.cli

import java.nio.file.Path

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.placement.PlacementReport

/** `placement --run DIR`: where the executors of a run are now, from the kernel. */
object PlacementVerb {
  def apply(args: Vector[String]): String = args match {
    case Vector("--run", directory) =>
      Json.pretty(PlacementReport.retake(Path.of("/"), Path.of(directory)).toJson)
    case other =>
      throw new UserError(s"placement takes --run DIRECTORY, not '${other.mkString(" ")}'")
  }
}
