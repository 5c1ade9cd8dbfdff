package io.hearth.core.plan

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.{Redaction, UserError}
import io.hearth.core.json.{Field, Json}
import io.hearth.core.topology.IdSet

/** The document of `hearth schema plan`. */
object PlanJson {
  val Schema = "hearth/plan/2"

  def write(plan: Plan): ObjectNode = Json.obj(
    "schema" -> Schema,
    "mode" -> plan.mode.name,
    "master" -> plan.master,
    "executors" -> plan.executors.map(writeExecutor),
    "driver" -> Json.obj(
      "cpus" -> plan.driver.cpus,
      "memory_nodes" -> plan.driver.memoryNodes,
      "bound" -> plan.driver.bound,
      "heap_mb" -> plan.driver.heapMb,
      "overhead_mb" -> plan.driver.overheadMb
    ),
    "conf" -> plan.conf,
    "reasons" -> plan.reasons.map(r =>
      Json.obj(
        "decision" -> r.decision,
        "value" -> r.value,
        "because" -> r.because,
        "source" -> r.source
      )
    ),
    "workload" -> Json.obj(
      "kind" -> plan.workload.kind.map(_.name),
      "input_bytes" -> plan.workload.inputBytes,
      "python" -> Option.when(plan.workload.python)(true),
      "bandwidth" -> plan.workload.bandwidth.map(run =>
        Json.obj("task_gb_s" -> run.taskGbS, "node_gb_s" -> run.nodeGbS)
      )
    ),
    "asked" -> Json.obj(
      "executors" -> plan.asked.executors,
      "cores" -> plan.asked.cores,
      "memory_mb" -> plan.asked.memoryMb
    )
  )

  private def writeExecutor(e: ExecutorPlan): ObjectNode = Json.obj(
    "id" -> e.id,
    "cpus" -> e.cpus,
    "memory_nodes" -> e.memoryNodes,
    "task_slots" -> e.taskSlots,
    "heap_mb" -> e.heapMb,
    "off_heap_mb" -> e.offHeapMb,
    "overhead_mb" -> e.overheadMb,
    "pyspark_mb" -> Option.when(e.pysparkMb > 0)(e.pysparkMb),
    "java_options" -> e.javaOptions,
    "host" -> e.host
  )

  /** A plan as it may be shown and kept: without secrets. */
  def shown(plan: Plan, redaction: Redaction): Plan = plan.copy(
    conf = plan.conf.map { case (key, value) => key -> redaction.setting(key, value) }
  )

  /** @throws UserError naming the field that is missing or wrong */
  def read(document: JsonNode): Plan = {
    val root = Field.of(document, "the plan", "`hearth schema plan`")
    root.schemaIs(Schema)
    val plan = Plan(
      root("mode").oneOf(Vector(PlanMode.Native, PlanMode.Partitioned))(_.name),
      root("master").text,
      root("executors").items.map(readExecutor),
      readDriver(root("driver")),
      root("conf").textFields,
      root("reasons").items.map(r =>
        Reason(r("decision").text, r("value").text, r("because").text, r("source").text)
      ),
      root.get("workload").fold(Workload.unknown)(PlanRequest.readWorkload),
      root.get("asked").fold(Limits.none)(PlanRequest.readLimits)
    )
    problemOf(plan).foreach(problem =>
      throw new UserError(s"the plan cannot be carried out: $problem")
    )
    plan
  }

  /** What the cluster manager relies on. */
  private def problemOf(plan: Plan): Option[String] = {
    val executors = plan.executors
    def wrong(e: ExecutorPlan): Option[String] =
      if (e.taskSlots < 1) Some(s"${e.taskSlots} task slots, where 1 is needed")
      else if (e.heapMb < 1) Some(s"a heap of ${e.heapMb} MB")
      else if (e.cpus.isEmpty || e.memoryNodes.isEmpty) Some("no CPU or no memory node")
      else None
    if (executors.isEmpty) Some("it has no executor")
    else if (executors.map(_.id).distinct.size != executors.size) Some("two executors have one id")
    else if (plan.mode == PlanMode.Native && executors.size > 1)
      Some(s"mode native is one JVM, and it has ${executors.size}")
    else
      executors.iterator
        .flatMap(e => wrong(e).map(what => s"executor ${e.id} has $what"))
        .nextOption()
  }

  private def readExecutor(field: Field): ExecutorPlan = ExecutorPlan(
    field("id").int,
    field("cpus").parsed(IdSet.parse),
    field("memory_nodes").parsed(IdSet.parse),
    field("task_slots").int,
    field("heap_mb").long,
    field("off_heap_mb").long,
    field("overhead_mb").long,
    field.get("pyspark_mb").fold(0L)(_.long),
    field("java_options").texts,
    field("host").text
  )

  private def readDriver(field: Field): DriverPlan = DriverPlan(
    field("cpus").parsed(IdSet.parse),
    field("memory_nodes").parsed(IdSet.parse),
    field("bound").flag,
    field("heap_mb").long,
    field("overhead_mb").long
  )
}
