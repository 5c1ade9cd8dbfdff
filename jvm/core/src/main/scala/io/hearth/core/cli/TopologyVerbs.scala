package io.hearth.core.cli

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/** `topology [--machine CAPTURE|SPEC]`: the machine as one JSON document. */
private[cli] object TopologyVerbs {

  def topology(args: Vector[String]): String = {
    val machine = args match {
      case Vector() => None
      case Vector("--machine", machine) => Some(machine)
      case _ => throw new UserError(s"topology does not take '${args.mkString(" ")}': $usage")
    }
    Json.pretty(TopologyJson.write(TopologyReader.load(machine)))
  }

  private def usage = "use topology [--machine CAPTURE|DESCRIPTION]"
}
