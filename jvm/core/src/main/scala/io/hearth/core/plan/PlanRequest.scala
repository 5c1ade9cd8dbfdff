package io.hearth.core.plan

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.topology.IdSet

/**
 * What a plan is asked for, as `contract/plan-request.schema.json` describes it.
 *
 * @param machine a capture or a description; this machine where absent
 * @param format a text form of the plan that the answer carries too
 * @param withTopology whether the answer carries the machine too
 */
final case class PlanRequest(
    machine: Option[String],
    workload: Workload,
    limits: Limits,
    occupied: IdSet,
    format: Option[PlanFormat],
    withTopology: Boolean
)

object PlanRequest {
  val Schema = "hearth/plan-request/1"
  private val SchemaFile = "contract/plan-request.schema.json"

  /** @throws io.hearth.core.UserError naming the field that is unknown or wrong */
  def read(document: JsonNode): PlanRequest = {
    val root = new PlanField(document, "the plan request", SchemaFile)
    root.only("schema", "machine", "workload", "limits", "occupied_cpus", "format", "with_topology")
    root.optional("schema").filter(_ => root.text("schema") != Schema).foreach { _ =>
      root.refuse("schema", s"is '${root.text("schema")}', not '$Schema'")
    }
    PlanRequest(
      root.optional("machine").map(_ => root.text("machine")),
      root.optional("workload").fold(Workload.unknown)(readWorkload),
      root.optional("limits").fold(Limits.none)(readLimits),
      root.optional("occupied_cpus").fold(IdSet.empty)(_ => root.ids("occupied_cpus")),
      root.optional("format").map(_ => root.oneOf("format", PlanFormat.all)(_.name)),
      root.optional("with_topology").exists(_ => root.flag("with_topology"))
    )
  }

  private def readWorkload(field: PlanField): Workload = {
    field.only("kind", "input_bytes")
    val bytes = field.optional("input_bytes").map(_ => field.long("input_bytes"))
    bytes.filter(_ < 0).foreach(b => field.refuse("input_bytes", s"is $b, below zero"))
    Workload(
      field.optional("kind").map(_ => field.oneOf("kind", WorkloadKind.all)(_.name)),
      bytes
    )
  }

  private def readLimits(field: PlanField): Limits = {
    field.only("executors", "cores", "memory_mb", "conf")
    Limits(
      field.optional("executors").map(_ => field.int("executors")),
      field.optional("cores").map(_ => field.int("cores")),
      field.optional("memory_mb").map(_ => field.long("memory_mb")),
      field.optional("conf").fold(Map.empty[String, String])(_.texts)
    )
  }
}
