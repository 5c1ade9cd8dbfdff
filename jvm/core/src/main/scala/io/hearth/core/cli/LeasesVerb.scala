package io.hearth.core.cli

import java.io.IOException

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{IoReason, UserError}
import io.hearth.core.json.Json
import io.hearth.core.leases.{LeaseRegistry, LiveLease}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/** `leases`: what applications have leased of this machine, with the machine (`hearth schema leases`). */
private[cli] object LeasesVerb {
  def apply(args: Vector[String]): String = {
    if (args.nonEmpty) throw new UserError(s"leases takes nothing, not '${args.mkString(" ")}'")
    val directory = registry(LeaseRegistry.directory(sys.env.get))
    val leases = registry(LeaseRegistry.here(sys.env.get).read())
    Json.pretty(
      Json.obj(
        "schema" -> "hearth/leases/1",
        "directory" -> directory.toString,
        "leases" -> leases.live.sortBy(one => (one.lease.since, one.lease.appId)).map(shown),
        "problems" -> (leases.problems ++ leases.unknown),
        "topology" -> TopologyJson.write(TopologyReader.load(None))
      )
    )
  }

  private def shown(one: LiveLease): JsonNode =
    one.lease.toJson.put("user", one.user).put("ours", one.ours)

  private def registry[A](read: => A): A =
    try read
    catch {
      case e: IOException =>
        throw new UserError(
          s"the leases of this machine cannot be read: ${IoReason(e)}; ${LeaseRegistry.Variable} can name " +
            "another directory",
          Some(e)
        )
    }
}
