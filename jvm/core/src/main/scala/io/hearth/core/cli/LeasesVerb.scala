package io.hearth.core.cli

import java.io.IOException

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.{IoReason, UserError}
import io.hearth.core.json.Json
import io.hearth.core.leases.{LeaseRegistry, LiveLease, LiveLoan, LiveOffer, LoanRegistry}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/** `leases`: what applications have leased of this machine, with the machine (contract/leases.schema.json). */
private[cli] object LeasesVerb {
  def apply(args: Vector[String]): String = {
    if (args.nonEmpty) throw new UserError(s"leases takes nothing, not '${args.mkString(" ")}'")
    val directory = registry(LeaseRegistry.directory(sys.env.get))
    val lendings = registry(new LoanRegistry(LeaseRegistry.here(sys.env.get)).read())
    val leases = lendings.leases
    val document = Json
      .obj()
      .put("schema", "hearth/leases/1")
      .put("directory", directory.toString)
    document.set[JsonNode](
      "leases",
      Json.array(leases.live.sortBy(one => (one.lease.since, one.lease.appId)).map(shown))
    )
    document
      .set[JsonNode]("offers", Json.array(lendings.offers.sortBy(_.offer.cpus.head).map(offered)))
    document.set[JsonNode](
      "loans",
      Json.array(
        lendings.loans.sortBy(_.loan.cpus.head).map(one => lent(one, lendings.offered(one)))
      )
    )
    document
      .set[JsonNode]("problems", Json.texts(leases.problems ++ leases.unknown ++ lendings.problems))
    document.set[JsonNode]("topology", TopologyJson.write(TopologyReader.load(None)))
    Json.pretty(document)
  }

  private def shown(one: LiveLease): JsonNode = one.lease.toJson match {
    case document: ObjectNode => document.put("user", one.user).put("ours", one.ours)
    case other => other
  }

  private def offered(one: LiveOffer): JsonNode = {
    val node = Json.obj().put("app_id", one.offer.appId).put("user", one.user)
    node.put("cpus", one.offer.cpus.toString).put("since_ms", one.offer.since)
  }

  /** Without its lender where that wants the CPUs back, or has ended. */
  private def lent(one: LiveLoan, from: Option[LiveOffer]): JsonNode = {
    val node = Json.obj().put("cpus", one.loan.cpus.toString).put("since_ms", one.loan.since)
    val borrower = Json.obj().put("app_id", one.loan.appId).put("user", one.user)
    node.set[JsonNode]("to", borrower.put("executor_id", one.loan.executorId))
    from.foreach(offer =>
      node.set[JsonNode](
        "from",
        Json.obj().put("app_id", offer.offer.appId).put("user", offer.user)
      )
    )
    node
  }

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
