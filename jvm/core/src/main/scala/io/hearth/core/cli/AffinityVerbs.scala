package io.hearth.core.cli

import java.io.{IOException, UncheckedIOException}
import java.net.UnknownHostException

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import io.hearth.affinity.{Defaults, NetworkDevice, Policy}
import io.hearth.core.{Brief, UserError}
import io.hearth.core.communication.CommunicationPlan
import io.hearth.core.json.Json
import io.hearth.core.topology.TopologyReader

/** The verbs about communication threads. */
private[cli] object AffinityVerbs {

  /** `affinity-plan [--machine M] [--device D] [--peer HOST] [--policy P]`: the CPUs of each thread. */
  def plan(args: Vector[String]): String = {
    val options = pairs(args, Set("--machine", "--device", "--peer", "--policy"))
    val machine = options.get("--machine")
    if (machine.nonEmpty && options.contains("--peer"))
      throw new UserError(
        "--peer asks this machine's routes: with --machine, name the --device instead"
      )
    val topology = TopologyReader.load(machine)
    val plan = CommunicationPlan.plan(
      topology,
      TopologyReader.adapters(machine, topology),
      options.get("--device"),
      options.get("--peer").map(carrier),
      options.get("--policy")
    )
    Json.pretty(CommunicationPlan.write(topology, plan))
  }

  /** `affinity-defaults`: what holds where the user sets nothing, and the policies. */
  def defaults(args: Vector[String]): String = {
    pairs(args, Set.empty)
    Json.pretty(
      Json.obj(
        "schema" -> "hearth/affinity-defaults/1",
        "architectures" -> Defaults.ALL.asScala.map(d =>
          Json.obj(
            "architecture" -> d.architecture,
            "policy" -> d.policy,
            "threads" -> d.threads,
            "basis" -> d.basis
          )
        ),
        "policies" -> Policy.Kind.values.toVector.map(kind =>
          Json.obj("name" -> kind.written, "plain" -> kind.plain, "meaning" -> kind.meaning)
        )
      )
    )
  }

  private def carrier(peer: String): String = {
    val found =
      try NetworkDevice.carrier(peer).toScala
      catch {
        case _: UnknownHostException =>
          throw new UserError(s"--peer '${Brief(peer)}' is not a host that this machine can find")
        case _: IOException | _: UncheckedIOException => None
      }
    found.getOrElse(
      throw new UserError(
        s"--peer '${Brief(peer)}': no route leads there; name the --device instead"
      )
    )
  }

  private def pairs(args: Vector[String], known: Set[String]): Map[String, String] = {
    @tailrec def read(rest: Vector[String], done: Map[String, String]): Map[String, String] =
      rest match {
        case Vector() => done
        case name +: value +: more if known(name) => read(more, done + (name -> value))
        case other =>
          val takes =
            if (known.isEmpty) "nothing" else known.toVector.sorted.mkString(" V, ") + " V"
          throw new UserError(s"this verb takes $takes, not '${Brief(other.mkString(" "))}'")
      }
    read(args, Map.empty)
  }
}
