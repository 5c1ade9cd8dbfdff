package io.hearth.core.cli

import java.io.InputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{Brief, Redaction, UserError}
import io.hearth.core.json.Json
import io.hearth.core.plan.{Beside, Plan, PlanJson, PlanRequest}
import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/**
 * `plan`: reads a plan request (contract/plan-request.schema.json) on standard input and answers with
 * the plan (contract/plan.schema.json), or reads several (contract/plan-requests.schema.json) and
 * answers each by itself (contract/plans.schema.json).
 */
private[cli] object PlanVerb {

  def plan(args: Vector[String]): String = {
    if (args.nonEmpty)
      throw new UserError(
        s"plan does not take '${args.mkString(" ")}': it reads a request in JSON on standard input"
      )
    Json.pretty(answer(System.in))
  }

  private[core] def answer(in: InputStream): JsonNode = {
    val document = Json.parse(new String(in.readAllBytes(), UTF_8), "the plan request")
    val seen = new Seen
    PlanRequest.several(document).fold(planned(document, seen)) { requests =>
      val answers = Json.array(requests)((list, request) => list.add(answered(request, seen)))
      Json.obj().put("schema", "hearth/plans/1").set[JsonNode]("plans", answers)
    }
  }

  /** The plan, or why there is none: one request that cannot be met does not take others with it. */
  private def answered(request: JsonNode, seen: Seen): JsonNode =
    try Json.obj().set[JsonNode]("plan", planned(request, seen))
    catch { case e: UserError => Json.obj().put("refused", Brief(e.getMessage, Main.LongestError)) }

  /** Machines and neighbours, looked at once for all requests: their plans then fit together. */
  private class Seen {
    private val machines = mutable.Map.empty[Option[String], Topology]
    private lazy val running = Neighbours.running(Path.of("/proc"))

    def topology(machine: Option[String]): Topology =
      machines.getOrElseUpdate(machine, TopologyReader.load(machine))

    /** Of the live machine; a captured or described one is planned for as if it were idle. */
    def neighbours(request: PlanRequest): Neighbours = {
      val ignored = request.limits.conf.get("spark.hearth.neighbours").contains("ignore")
      if (request.machine.nonEmpty || ignored) Neighbours.none else running
    }
  }

  private def planned(document: JsonNode, seen: Seen): JsonNode = {
    val request = PlanRequest.read(document)
    val topology = seen.topology(request.machine)
    checkOccupied(request.occupied, topology)
    val scratch = if (request.machine.isEmpty) Scratch.live() else Scratch.assumed(topology)
    val plan = Beside
      .plan(
        topology,
        request.workload,
        request.limits,
        request.occupied,
        seen.neighbours(request),
        scratch
      )
      .fold(unfit => throw new UserError(unfit.message), identity)
    written(plan, request, topology)
  }

  private def written(plan: Plan, request: PlanRequest, topology: Topology): JsonNode = {
    val document = PlanJson.write(plan)
    val redaction = Redaction.of(request.limits.conf.get)
    val users = request.limits.conf.map { case (key, value) =>
      key -> redaction.setting(key, value)
    }
    request.format.foreach(format =>
      document.put("text", format.render(PlanJson.shown(plan, redaction), users))
    )
    if (request.withTopology) document.set[JsonNode]("topology", TopologyJson.write(topology))
    document
  }

  private def checkOccupied(occupied: IdSet, topology: Topology): Unit = {
    val unknown = occupied &~ topology.cpus
    if (unknown.nonEmpty)
      throw new UserError(
        s"--occupied: '$occupied' names CPUs that the machine does not have: it has ${topology.cpus}; " +
          s"leave out $unknown"
      )
  }
}
