package io.hearth.core.plan

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.UserError
import io.hearth.core.json.Field
import io.hearth.core.topology.IdSet

/**
 * A request for a plan, as `contract/examples/plan-request.json` has it.
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
  private val Example = "contract/examples/plan-request.json"

  private val SeveralSchema = "hearth/plan-requests/1"
  private val SeveralExample = "contract/examples/plan-requests.json"

  /**
   * The requests of a document that holds several; absent for one that is a request itself.
   *
   * @throws io.hearth.core.UserError naming the field that is unknown or wrong
   */
  def several(document: JsonNode): Option[Vector[JsonNode]] =
    Option.when(document.has("requests")) {
      val root = Field.of(document, "the plan requests", SeveralExample)
      root.only("schema", "requests")
      root.schemaIs(SeveralSchema)
      root("requests").items.map(_.value)
    }

  /** @throws io.hearth.core.UserError naming the field that is unknown or wrong */
  def read(document: JsonNode): PlanRequest = {
    val root = Field.of(document, "the plan request", Example)
    root.only("schema", "machine", "workload", "limits", "occupied_cpus", "format", "with_topology")
    root.get("schema").foreach(_ => root.schemaIs(Schema))
    val limits = root.get("limits").fold(Limits.none)(readLimits)
    PlanRequest(
      root.get("machine").map(_.text),
      settled(root.get("workload").fold(Workload.unknown)(readWorkload), limits.conf),
      limits,
      root.get("occupied_cpus").fold(IdSet.empty)(cpus => occupied(cpus.text)),
      root.get("format").map(_.oneOf(PlanFormat.all)(_.name)),
      root.get("with_topology").exists(_.flag)
    )
  }

  private def occupied(text: String): IdSet = IdSet
    .parse(text)
    .fold(why => throw new UserError(s"--occupied: $why; give CPUs such as 0-3,8"), identity)

  private[plan] def readWorkload(field: Field): Workload = {
    field.only("kind", "input_bytes", "python", "bandwidth")
    val run = field.get("bandwidth")
    Workload(
      field.get("kind").map(_.oneOf(WorkloadKind.all)(_.name)),
      field.get("input_bytes").map(_.atLeast(0)),
      field.get("python").exists(_.flag),
      run.map(of => RecordedBandwidth(of("task_gb_s").rate, of("node_gb_s").rate))
    )
  }

  /** What the workload leaves open may be set by hearth's keys; wrong values are refused later. */
  private def settled(said: Workload, conf: Map[String, String]): Workload = said.copy(
    kind = said.kind.orElse(
      conf.get(HearthKeys.WorkloadKind.name).flatMap(HearthKeys.WorkloadKind.form.read)
    ),
    inputBytes = said.inputBytes.orElse(
      conf.get(HearthKeys.InputSize.name).flatMap(HearthKeys.InputSize.form.read)
    )
  )

  private[plan] def readLimits(field: Field): Limits = {
    field.only("executors", "cores", "memory_mb", "memory_typed", "conf", "environment")
    def texts(name: String) = field.get(name).fold(Map.empty[String, String])(_.textFields)
    Limits(
      field.get("executors").map(_.int),
      field.get("cores").map(_.int),
      field.get("memory_mb").map(_.long),
      texts("conf"),
      texts("environment"),
      field.get("memory_typed").map(_.text)
    )
  }
}
