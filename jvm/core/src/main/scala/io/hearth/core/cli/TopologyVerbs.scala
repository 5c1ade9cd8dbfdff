package io.hearth.core.cli

import java.nio.file.Path

import scala.annotation.tailrec

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
    @tailrec def parse(rest: Vector[String], asked: Asked): String =
      rest match {
        case "--output" +: file +: more => parse(more, asked.copy(output = Some(file)))
        case "--force" +: more => parse(more, asked.copy(force = true))
        case Vector() if asked.output.nonEmpty => write(asked)
        case _ => refuse("gather --output FILE [--force]", args)
      }
    parse(args, Asked(None, force = false))
  }

  final private case class Asked(output: Option[String], force: Boolean)

  private def write(asked: Asked): String = {
    val gathered =
      new Gatherer(Path.of("/")).write(Path.of(asked.output.mkString), asked.force)
    Json.pretty(
      Json
        .obj()
        .put("schema", "hearth/gather/1")
        .put("output", gathered.output.toString)
        .put("files", gathered.files)
        .put("bytes", gathered.bytes)
    )
  }

  private def refuse(usage: String, args: Vector[String]): Nothing =
    throw new UserError(s"the arguments '${args.mkString(" ")}' are not understood: use $usage")
}
