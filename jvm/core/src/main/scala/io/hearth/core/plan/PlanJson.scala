package io.hearth.core.plan

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.{Brief, Redaction, UserError}
import io.hearth.core.json.Json

/** The document of `contract/plan.schema.json`. */
object PlanJson {
  val Schema = "hearth/plan/2"

  def write(plan: Plan): ObjectNode = {
    val root = Json
      .obj()
      .put("schema", Schema)
      .put("mode", plan.mode.name)
      .put("master", plan.master)
    root.set[JsonNode]("executors", Json.array(plan.executors.map(writeExecutor)))
    root.set[JsonNode]("driver", writeDriver(plan.driver))
    val conf = Json.obj()
    plan.conf.toVector.sorted.foreach { case (key, value) => conf.put(key, value) }
    root.set[JsonNode]("conf", conf)
    root.set[JsonNode]("reasons", Json.array(plan.reasons.map(writeReason)))
    root.set[JsonNode]("workload", writeWorkload(plan.workload))
    root.set[ObjectNode]("asked", writeAsked(plan.asked))
  }

  private def writeExecutor(e: ExecutorPlan): ObjectNode = {
    val node = Json
      .obj()
      .put("id", e.id)
      .put("cpus", e.cpus.toString)
      .put("memory_nodes", e.memoryNodes.toString)
      .put("task_slots", e.taskSlots)
      .put("heap_mb", e.heapMb)
      .put("off_heap_mb", e.offHeapMb)
      .put("overhead_mb", e.overheadMb)
    if (e.pysparkMb > 0) node.put("pyspark_mb", e.pysparkMb)
    node.set[JsonNode]("java_options", Json.texts(e.javaOptions))
    node.put("host", e.host)
  }

  private def writeDriver(d: DriverPlan): ObjectNode = Json
    .obj()
    .put("cpus", d.cpus.toString)
    .put("memory_nodes", d.memoryNodes.toString)
    .put("bound", d.bound)
    .put("heap_mb", d.heapMb)
    .put("overhead_mb", d.overheadMb)

  private def writeReason(r: Reason): ObjectNode = Json
    .obj()
    .put("decision", r.decision)
    .put("value", r.value)
    .put("because", r.because)
    .put("source", r.source)

  private def writeWorkload(w: Workload): ObjectNode = {
    val node = Json.obj()
    w.kind.foreach(kind => node.put("kind", kind.name))
    w.inputBytes.foreach(node.put("input_bytes", _))
    if (w.python) node.put("python", true)
    node
  }

  private def writeAsked(limits: Limits): ObjectNode = {
    val node = Json.obj()
    limits.executors.foreach(node.put("executors", _))
    limits.cores.foreach(node.put("cores", _))
    limits.memoryMb.foreach(node.put("memory_mb", _))
    node
  }

  /** A plan as it may be shown and kept: without secrets. */
  def shown(plan: Plan, redaction: Redaction): Plan = plan.copy(
    conf = plan.conf.map { case (key, value) => key -> redaction.setting(key, value) }
  )

  /** @throws UserError naming the field that is missing or wrong */
  def read(document: JsonNode): Plan = {
    val root = new PlanField(document, "the plan", "contract/plan.schema.json")
    val schema = root.text("schema")
    if (schema != Schema)
      throw new UserError(s"the document's schema is '${Brief(schema)}': a plan has '$Schema'")
    val plan = Plan(
      root.oneOf("mode", Vector(PlanMode.Native, PlanMode.Partitioned))(_.name),
      root.text("master"),
      root.items("executors").map(readExecutor),
      readDriver(root.child("driver")),
      root.child("conf").texts,
      root.items("reasons").map(readReason),
      root.optional("workload").fold(Workload.unknown)(PlanRequest.readWorkload),
      root.optional("asked").fold(Limits.none)(PlanRequest.readLimits)
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

  private def readExecutor(field: PlanField): ExecutorPlan = ExecutorPlan(
    field.int("id"),
    field.ids("cpus"),
    field.ids("memory_nodes"),
    field.int("task_slots"),
    field.long("heap_mb"),
    field.long("off_heap_mb"),
    field.long("overhead_mb"),
    field.optional("pyspark_mb").fold(0L)(_ => field.long("pyspark_mb")),
    field.texts("java_options"),
    field.text("host")
  )

  private def readDriver(field: PlanField): DriverPlan = DriverPlan(
    field.ids("cpus"),
    field.ids("memory_nodes"),
    field.flag("bound"),
    field.long("heap_mb"),
    field.long("overhead_mb")
  )

  private def readReason(field: PlanField): Reason =
    Reason(field.text("decision"), field.text("value"), field.text("because"), field.text("source"))

  private[plan] def entries(node: JsonNode): Iterator[(String, JsonNode)] =
    node.properties.asScala.iterator.map(e => e.getKey -> e.getValue)
}
