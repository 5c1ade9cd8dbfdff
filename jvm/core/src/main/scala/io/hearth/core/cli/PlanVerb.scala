package io.hearth.core.cli

import java.io.{IOException, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{Brief, IoReason, Redaction, UserError}
import io.hearth.core.json.Json
import io.hearth.core.leases.{Lease, LeaseRegistry, Leases, OpenFile}
import io.hearth.core.plan.{Coexistence, Fitting, Fitted, LaunchSettings, Plan, PlanJson}
import io.hearth.core.plan.{PlanLease, PlanMode, PlanRequest}
import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/**
 * `plan`: reads a plan request (contract/examples/plan-request.json) on standard input and answers with
 * the plan (`hearth schema plan`), or reads several (contract/examples/plan-requests.json) and answers
 * each by itself, in their order, with its `plan` or why it is `refused`.
 */
private[cli] object PlanVerb {

  def plan(args: Vector[String]): String = args match {
    case Vector() => Json.pretty(answer(System.in))
    case Vector("--lease", fd, file, pid, name, tell)
        if Vector(fd, tell).forall(_.toIntOption.nonEmpty) =>
      val document = Json.parse(new String(System.in.readAllBytes(), UTF_8), "the plan request")
      val offer = Offer(fd.toInt, Path.of(file), pid.toLongOption.getOrElse(0L), name, tell.toInt)
      Json.pretty(planned(document, new Looks, Some(Right(offer))))
    case Vector("--unleased", why) => // the caller could make no file for one
      val document = Json.parse(new String(System.in.readAllBytes(), UTF_8), "the plan request")
      Json.pretty(planned(document, new Looks, Some(Left(Brief(why, 200)))))
    case other =>
      throw new UserError(
        s"plan does not take '${other.mkString(" ")}': it reads a request in JSON on standard input"
      )
  }

  /**
   * A file of the caller's, which is to hold the lease of a plan that is one JVM of plain Spark.
   *
   * @param tell where the user is told what takes long, as a file descriptor
   */
  final private case class Offer(fd: Int, file: Path, pid: Long, name: String, tell: Int) {
    def say(sentence: String): Unit =
      try OpenFile.tell(tell, s"hearth: $sentence\n")
      catch { case _: IOException => () } // nobody listens

    def lease(fitted: Fitted): Lease =
      PlanLease.of(fitted, Lease.of(s"one-jvm-$pid", name, pid, startTicks = 0))
  }

  private[core] def answer(in: InputStream): JsonNode = {
    val document = Json.parse(new String(in.readAllBytes(), UTF_8), "the plan request")
    val looks = new Looks
    PlanRequest.several(document).fold(planned(document, looks)) { requests =>
      Json.obj("schema" -> "hearth/plans/1", "plans" -> requests.map(answered(_, looks)))
    }
  }

  /** The plan, or why there is none: one request that cannot be met does not take others with it. */
  private def answered(request: JsonNode, looks: Looks): JsonNode =
    try Json.obj("plan" -> planned(request, looks))
    catch {
      case e: UserError => Json.obj("refused" -> Brief(e.getMessage, Main.MaxErrorChars))
    }

  /** Machines and what runs beside, looked at once for all requests: their plans then fit together. */
  private class Looks {
    private val machines = mutable.Map.empty[Option[String], Topology]
    private lazy val running = Neighbours.running(Path.of("/"))

    /** That they cannot be read is a reason of the plan. */
    private lazy val live =
      try LeaseRegistry.here(sys.env.get).read()
      catch { case e: IOException => Leases.failing(Brief(IoReason(e), 200)) }

    def topology(machine: Option[String]): Topology =
      machines.getOrElseUpdate(machine, TopologyReader.load(machine))

    def leases(request: PlanRequest): Leases = if (alone(request)) Leases.none else live

    def fitting(request: PlanRequest): Fitting = new Fitting(
      topology(request.machine),
      request.workload,
      request.limits,
      if (alone(request)) Neighbours.none else running,
      if (request.machine.isEmpty) Scratch.live() else Scratch.assumed(topology(request.machine)),
      request.occupied
    )

    /** A captured or described machine is planned for as if it were idle. */
    private def alone(request: PlanRequest) = request.machine.nonEmpty || request.ignoresOthers
  }

  private def accepted(fitted: Fitted, request: PlanRequest): Fitted = {
    if (request.whenFull.contains("refuse"))
      fitted.refusal.foreach(sentence => throw new UserError(sentence))
    fitted
  }

  /** One JVM takes its lease in the step in which it is planned; other plans leave that to their driver. */
  private def leased(request: PlanRequest, fitting: Fitting, first: Fitted, offer: Offer): Fitted =
    try
      LeaseRegistry.here(sys.env.get).exclusively(offer.say) { registry =>
        val fitted = accepted(fitting.beside(registry.leases), request)
        val waits = fitted.full.nonEmpty && request.whenFull.contains("wait")
        val own = LaunchSettings.own(fitted.plan, request.limits.conf)
        if (fitted.plan.mode == PlanMode.Native && !waits && !own)
          registry.takeFor(offer.lease(fitted), offer.file, offer.fd)
        fitted
      }
    catch { case e: IOException => unleased(request, fitting, first, Brief(IoReason(e), 200)) }

  /** Only who shares does without; the driver of one that waits tries again. */
  private def unleased(
      request: PlanRequest,
      fitting: Fitting,
      first: Fitted,
      why: String
  ): Fitted =
    if (request.whenFull.forall(_ == "share"))
      first.copy(plan = Coexistence.uncounted(first.plan, s"this application has no lease: $why"))
    else accepted(fitting.beside(Leases.failing(why)), request)

  /** @param lease of one JVM, absent where none is wanted: the file for it, or why there is none */
  private def planned(
      document: JsonNode,
      looks: Looks,
      lease: Option[Either[String, Offer]] = None
  ): JsonNode = {
    val request = PlanRequest.read(document)
    val topology = looks.topology(request.machine)
    checkOccupied(request.occupied, topology)
    val fitting = looks.fitting(request)
    val first = accepted(fitting.beside(looks.leases(request)), request)
    val fitted = lease
      .filter(_ => first.plan.mode == PlanMode.Native && !request.ignoresOthers)
      .fold(first)(
        _.fold(unleased(request, fitting, first, _), leased(request, fitting, first, _))
      )
    written(fitted.plan, request, topology)
  }

  private def written(plan: Plan, request: PlanRequest, topology: Topology): JsonNode = {
    val document = PlanJson.write(plan)
    if (LaunchSettings.own(plan, request.limits.conf)) document.put("master", "local-numa")
    val launch = LaunchSettings.of(plan, request.limits.conf)
    if (launch.nonEmpty) document.setAll[JsonNode](Json.obj("launch" -> launch))
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
