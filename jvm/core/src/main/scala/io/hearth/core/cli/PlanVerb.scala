package io.hearth.core.cli

import java.io.{IOException, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{Brief, IoReason, Redaction, UserError}
import io.hearth.core.json.Json
import io.hearth.core.leases.{Lease, LeaseRegistry, Leases, OpenFile}
import io.hearth.core.plan.{Coexistence, Fitted, LaunchSettings, Others, Plan, PlanJson}
import io.hearth.core.plan.{PlanLease, PlanMode, PlanRequest}
import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology}
import io.hearth.core.topology.{TopologyJson, TopologyReader}

/**
 * `plan`: reads a plan request (contract/plan-request.schema.json) on standard input and answers with
 * the plan (contract/plan.schema.json), or reads several (contract/plan-requests.schema.json) and
 * answers each by itself (contract/plans.schema.json).
 */
private[cli] object PlanVerb {

  def plan(args: Vector[String]): String = args match {
    case Vector() => Json.pretty(answer(System.in))
    case Vector("--lease", fd, file, pid, name, tell)
        if Vector(fd, tell).forall(_.toIntOption.nonEmpty) =>
      val document = Json.parse(new String(System.in.readAllBytes(), UTF_8), "the plan request")
      val offer = Offer(fd.toInt, Path.of(file), pid.toLongOption.getOrElse(0L), name, tell.toInt)
      Json.pretty(planned(document, new Seen, Some(Right(offer))))
    case Vector("--unleased", why) => // the caller could make no file for one
      val document = Json.parse(new String(System.in.readAllBytes(), UTF_8), "the plan request")
      Json.pretty(planned(document, new Seen, Some(Left(Brief(why, 200)))))
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
    val seen = new Seen
    PlanRequest.several(document).fold(planned(document, seen)) { requests =>
      val answers = Json.array(requests.map(request => answered(request, seen)))
      Json.obj().put("schema", "hearth/plans/1").set[JsonNode]("plans", answers)
    }
  }

  /** The plan, or why there is none: one request that cannot be met does not take others with it. */
  private def answered(request: JsonNode, seen: Seen): JsonNode =
    try Json.obj().set[JsonNode]("plan", planned(request, seen))
    catch {
      case e: UserError => Json.obj().put("refused", Brief(e.getMessage, Main.MaxErrorChars))
    }

  /** Machines and neighbours, looked at once for all requests: their plans then fit together. */
  private class Seen {
    private val machines = mutable.Map.empty[Option[String], Topology]
    private lazy val running = Others(Neighbours.running(Path.of("/proc")), leases())

    def topology(machine: Option[String]): Topology =
      machines.getOrElseUpdate(machine, TopologyReader.load(machine))

    /** Of the live machine; a captured or described one is planned for as if it were idle. */
    def others(request: PlanRequest): Others =
      if (request.machine.nonEmpty || request.ignoresOthers) Others.none else running

    /** That they cannot be read is a reason of the plan. */
    private def leases(): Leases =
      try LeaseRegistry.here(sys.env.get).read()
      catch { case e: IOException => Leases.failing(Brief(IoReason(e), 200)) }
  }

  /** One JVM takes its lease in the step in which it is planned; other plans leave that to their driver. */
  private def leased(request: PlanRequest, fit: Leases => Fitted, fitted: Fitted, offer: Offer) =
    try
      LeaseRegistry.here(sys.env.get).exclusively(offer.say) { registry =>
        val now = fit(registry.leases)
        val waits = now.full.nonEmpty && request.whenFull.contains("wait")
        if (now.plan.mode == PlanMode.Native && !waits)
          registry.takeFor(offer.lease(now), offer.file, offer.fd)
        now
      }
    catch { case e: IOException => unleased(request, fit, fitted, Brief(IoReason(e), 200)) }

  /** Only who shares does without; the driver of one that waits tries again. */
  private def unleased(
      request: PlanRequest,
      fit: Leases => Fitted,
      fitted: Fitted,
      why: String
  ): Fitted =
    if (request.whenFull.forall(_ == "share"))
      fitted.copy(plan = Coexistence.uncounted(fitted.plan, s"this application has no lease: $why"))
    else fit(Leases.failing(why))

  /** @param lease of one JVM, absent where none is wanted: the file for it, or why there is none */
  private def planned(
      document: JsonNode,
      seen: Seen,
      lease: Option[Either[String, Offer]] = None
  ): JsonNode = {
    val request = PlanRequest.read(document)
    val topology = seen.topology(request.machine)
    checkOccupied(request.occupied, topology)
    val scratch = if (request.machine.isEmpty) Scratch.live() else Scratch.assumed(topology)
    val others = seen.others(request)
    def fit(leases: Leases): Fitted = {
      val fitted = Coexistence
        .fit(
          topology,
          request.workload,
          request.limits,
          request.occupied,
          others.copy(leases = leases),
          scratch
        )
        .fold(unfit => throw new UserError(unfit.message), identity)
      if (request.whenFull.contains("refuse"))
        fitted.refusal.foreach(sentence => throw new UserError(sentence))
      fitted
    }
    val first = fit(others.leases)
    val fitted = lease
      .filter(_ => first.plan.mode == PlanMode.Native && !request.ignoresOthers)
      .fold(first)(_.fold(unleased(request, fit, first, _), leased(request, fit, first, _)))
    written(fitted.plan, request, topology)
  }

  private def written(plan: Plan, request: PlanRequest, topology: Topology): JsonNode = {
    val document = PlanJson.write(plan)
    if (LaunchSettings.waits(plan)) document.put("master", "local-numa")
    val launch = Json.obj()
    LaunchSettings.of(plan, request.limits.conf).toVector.sorted.foreach { case (key, value) =>
      launch.put(key, value)
    }
    if (!launch.isEmpty) document.set[JsonNode]("launch", launch)
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
