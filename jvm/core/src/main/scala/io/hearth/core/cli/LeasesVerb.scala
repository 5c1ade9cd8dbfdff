package io.hearth.core.cli

import java.io.IOException

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{IoReason, UserError}
import io.hearth.core.json.Json
import io.hearth.core.leases.{LeaseRegistry, LiveLease, LiveLoan, LiveOffer, LoanRegistry}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/** `leases`: what applications have leased of this machine, with the machine (`hearth schema leases`). */
private[cli] object LeasesVerb {
  def apply(args: Vector[String]): String = {
    if (args.nonEmpty) throw new UserError(s"leases takes nothing, not '${args.mkString(" ")}'")
    val directory = registry(LeaseRegistry.directory(sys.env.get))
    val lendings = registry(new LoanRegistry(LeaseRegistry.here(sys.env.get)).read())
    val leases = lendings.leases
    Json.pretty(
      Json.obj(
        "schema" -> "hearth/leases/1",
        "directory" -> directory.toString,
        "leases" -> leases.live.sortBy(one => (one.lease.since, one.lease.appId)).map(shown),
        "offers" -> lendings.offers.sortBy(_.offer.cpus.head).map(offered),
        "loans" -> lendings.loans
          .sortBy(_.loan.cpus.head)
          .map(one => lent(one, lendings.offered(one))),
        "problems" -> (leases.problems ++ leases.unknown ++ lendings.problems),
        "topology" -> TopologyJson.write(TopologyReader.load(None))
      )
    )
  }

  private def shown(one: LiveLease): JsonNode =
    one.lease.toJson.put("user", one.user).put("ours", one.ours)

  private def offered(one: LiveOffer): JsonNode = Json.obj(
    "app_id" -> one.offer.appId,
    "user" -> one.user,
    "cpus" -> one.offer.cpus,
    "since_ms" -> one.offer.since
  )

  /** Without its lender where that wants the CPUs back, or has ended. */
  private def lent(one: LiveLoan, lender: Option[LiveOffer]): JsonNode = Json.obj(
    "cpus" -> one.loan.cpus,
    "since_ms" -> one.loan.since,
    "to" -> Json.obj(
      "app_id" -> one.loan.appId,
      "user" -> one.user,
      "executor_id" -> one.loan.executorId
    ),
    "from" -> lender.map(o => Json.obj("app_id" -> o.offer.appId, "user" -> o.user))
  )

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
