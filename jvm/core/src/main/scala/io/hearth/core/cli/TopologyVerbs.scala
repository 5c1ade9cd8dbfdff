package io.hearth.core.cli

import java.nio.file.Path

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.topology.{Gatherer, TopologyJson, TopologyReader}

/** The verbs that show a machine and that capture it. */
private[cli] object TopologyVerbs {

  /** `topology [--machine CAPTURE|DESCRIPTION]`: the machine as one JSON document. */
  def topology(args: Vector[String]): String = {
    val machine = args match {
      case Vector() => None
      case Vector("--machine", machine) => Some(machine)
      case _ => refuse("topology [--machine CAPTURE|DESCRIPTION]", args)
    }
    Json.pretty(TopologyJson.write(TopologyReader.load(machine)))
  }

  /** `gather --output FILE [--force]`: a capture of this machine. */
  def gather(args: Vector[String]): String = {
    val (force, rest) = args.partition(_ == "--force")
    rest match {
      case Vector("--output", file) => write(file, force.nonEmpty)
      case _ => refuse("gather --output FILE [--force]", args)
    }
  }

  private def write(output: String, force: Boolean): String = {
    val gathered = new Gatherer(Path.of("/")).write(Path.of(output), force)
    Json.pretty(
      Json.obj(
        "schema" -> "hearth/gather/1",
        "output" -> gathered.output.toString,
        "files" -> gathered.files,
        "bytes" -> gathered.bytes
      )
    )
  }

  private def refuse(usage: String, args: Vector[String]): Nothing =
    throw new UserError(s"the arguments '${args.mkString(" ")}' are not understood: use $usage")
}
