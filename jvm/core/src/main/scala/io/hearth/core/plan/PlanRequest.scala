package io.hearth.core.plan

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.UserError
import io.hearth.core.topology.IdSet

/**
 * A request for a plan, as `contract/plan-request.schema.json` describes it.
 *
 * @param machine a capture or a description; this machine where absent
 * @param format a text form of the plan to include in the answer
 * @param withTopology whether to include the machine in the answer
 */
final case class PlanRequest(
    machine: Option[String],
    workload: Workload,
    limits: Limits,
    occupied: IdSet,
    format: Option[PlanFormat],
    withTopology: Boolean
) {

  /** `spark.hearth.lease.whenFull`, where the user set it. */
  def whenFull: Option[String] = limits.conf.get(HearthKeys.WhenFull.name)

  /** Whether the plan is to be made as if the machine were idle. */
  def ignoresOthers: Boolean = limits.conf.get(HearthKeys.Neighbours.name).contains("ignore")
}

object PlanRequest {
  val Schema = "hearth/plan-request/1"
  private val SchemaFile = "contract/plan-request.schema.json"

  private val SeveralSchema = "hearth/plan-requests/1"
  private val SeveralFile = "contract/plan-requests.schema.json"

  /**
   * The requests of a document that holds several; absent for one that is a request itself.
   *
   * @throws io.hearth.core.UserError naming the field that is unknown or wrong
   */
  def several(document: JsonNode): Option[Vector[JsonNode]] =
    Option.when(document.has("requests")) {
      val root = new PlanField(document, "the plan requests", SeveralFile)
      root.only("schema", "requests")
      if (root.text("schema") != SeveralSchema)
        root.refuse("schema", s"is '${root.text("schema")}', not '$SeveralSchema'")
      root.items("requests").map(_.value)
    }

  /** @throws io.hearth.core.UserError naming the field that is unknown or wrong */
  def read(document: JsonNode): PlanRequest = {
    val root = new PlanField(document, "the plan request", SchemaFile)
    root.only("schema", "machine", "workload", "limits", "occupied_cpus", "format", "with_topology")
    root.optional("schema").filter(_ => root.text("schema") != Schema).foreach { _ =>
      root.refuse("schema", s"is '${root.text("schema")}', not '$Schema'")
    }
    val limits = root.optional("limits").fold(Limits.none)(readLimits)
    PlanRequest(
      root.optional("machine").map(_ => root.text("machine")),
      settled(root.optional("workload").fold(Workload.unknown)(readWorkload), limits.conf),
      limits,
      root.optional("occupied_cpus").fold(IdSet.empty)(_ => occupied(root.text("occupied_cpus"))),
      root.optional("format").map(_ => root.oneOf("format", PlanFormat.all)(_.name)),
      root.optional("with_topology").exists(_ => root.flag("with_topology"))
    )
  }

  private def occupied(text: String): IdSet = IdSet
    .parse(text)
    .fold(
      problem => throw new UserError(s"--occupied: $problem; give CPUs such as 0-3,8"),
      identity
    )

  private[plan] def readWorkload(field: PlanField): Workload = {
    field.only("kind", "input_bytes", "python")
    val bytes = field.optional("input_bytes").map(_ => field.long("input_bytes"))
    bytes.filter(_ < 0).foreach(b => field.refuse("input_bytes", s"is $b, below zero"))
    Workload(
      field.optional("kind").map(_ => field.oneOf("kind", WorkloadKind.all)(_.name)),
      bytes,
      field.optional("python").exists(_ => field.flag("python"))
    )
  }

  /** What the workload leaves open may be set by hearth's keys; wrong values are refused later. */
  private def settled(said: Workload, conf: Map[String, String]): Workload = Workload(
    said.kind.orElse(
      conf.get(HearthKeys.WorkloadKind.name).flatMap(HearthKeys.WorkloadKind.form.read)
    ),
    said.inputBytes.orElse(
      conf.get(HearthKeys.InputSize.name).flatMap(HearthKeys.InputSize.form.read)
    ),
    said.python
  )

  private[plan] def readLimits(field: PlanField): Limits = {
    field.only("executors", "cores", "memory_mb", "memory_typed", "conf", "environment")
    Limits(
      field.optional("executors").map(_ => field.int("executors")),
      field.optional("cores").map(_ => field.int("cores")),
      field.optional("memory_mb").map(_ => field.long("memory_mb")),
      field.optional("conf").fold(Map.empty[String, String])(_.texts),
      field.optional("environment").fold(Map.empty[String, String])(_.texts),
      field.optional("memory_typed").map(_ => field.text("memory_typed"))
    )
  }
}
