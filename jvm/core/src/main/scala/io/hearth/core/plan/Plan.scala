package io.hearth.core.plan

import io.hearth.core.launch.Binding
import io.hearth.core.topology.IdSet

/**
 * What is known of the application.
 *
 * @param python whether it is a Python program, whose functions run in Python workers
 * @param bandwidth of a recorded run of it
 */
final case class Workload(
    kind: Option[WorkloadKind],
    inputBytes: Option[Long],
    python: Boolean = false,
    bandwidth: Option[RecordedBandwidth] = None
)

object Workload {
  val unknown: Workload = Workload(None, None)
}

sealed abstract class WorkloadKind(val name: String)
object WorkloadKind {
  case object Sql extends WorkloadKind("sql")
  case object Ml extends WorkloadKind("ml")
  case object Graph extends WorkloadKind("graph")
  case object Etl extends WorkloadKind("etl")
  val all: Vector[WorkloadKind] = Vector(Sql, Ml, Graph, Etl)
}

/**
 * What the user fixed: always honoured, or refused by name.
 *
 * @param executors number of executors
 * @param cores task slots of each executor
 * @param memoryMb heap of each executor
 * @param conf every Spark key that the user set
 * @param environment the user's values of [[JvmEnvironment.Variables]]
 * @param memoryTyped how the user wrote `memoryMb`, for messages
 */
final case class Limits(
    executors: Option[Int],
    cores: Option[Int],
    memoryMb: Option[Long],
    conf: Map[String, String],
    environment: Map[String, String] = Map.empty,
    memoryTyped: Option[String] = None
)

object Limits {
  val none: Limits = Limits(None, None, None, Map.empty)
}

/**
 * How an application uses the machine.
 *
 * @param mode `Native` is one JVM (Spark's `local[n]`): then `executors` holds that one JVM, not bound
 * @param master the Spark master that runs this plan, such as `local-numa[4x12]` or `local[8]`
 * @param conf the Spark settings that follow from the decisions, and none that the user set: those
 *             stay where they were set, and Spark's order of precedence applies. Where executors
 *             differ, `spark.executor.cores` is the narrowest one's
 * @param reasons one for each decision, in the order in which they were taken
 * @param workload what is known of the application
 * @param asked what the user fixed by hearth's own options, so that a driver can plan again; its
 *              `conf` and `environment` are empty
 */
final case class Plan(
    mode: PlanMode,
    master: String,
    executors: Vector[ExecutorPlan],
    driver: DriverPlan,
    conf: Map[String, String],
    reasons: Vector[Reason],
    workload: Workload,
    asked: Limits
) {

  /** The most memory that all its processes may take; one JVM is executor and driver. */
  def memoryMb: Long =
    executors.iterator.map(_.memoryMb).sum + (if (mode == PlanMode.Native) 0L else driver.memoryMb)
}

sealed abstract class PlanMode(val name: String)
object PlanMode {
  case object Native extends PlanMode("native")
  case object Partitioned extends PlanMode("partitioned")
}

/**
 * One executor and its place.
 *
 * @param id 0, 1, 2 ...: the place, kept when a lost executor is replaced
 * @param cpus the CPUs it is bound to
 * @param memoryNodes the memory nodes that it is bound to
 * @param taskSlots Spark's cores of the executor: tasks that run at the same time, times spark.task.cpus
 * @param heapMb -Xmx
 * @param overheadMb what its JVM takes beside heap and off-heap memory, and a native engine's part of it
 * @param pysparkMb what Spark grants its Python workers on top (spark.executor.pyspark.memory)
 * @param javaOptions hearth's own garbage collector and JVM flags, without -Xmx; the user's come behind them
 * @param host the name under which Spark's scheduler knows the place: one for each NUMA node
 *             (for each executor, where the whole plan sits on one node)
 */
final case class ExecutorPlan(
    id: Int,
    cpus: IdSet,
    memoryNodes: IdSet,
    taskSlots: Int,
    heapMb: Long,
    offHeapMb: Long,
    overheadMb: Long,
    pysparkMb: Long,
    javaOptions: Vector[String],
    host: String
) {

  def binding: Binding = Binding(cpus, memoryNodes)

  /** The most memory that its processes may take. */
  def memoryMb: Long = heapMb + offHeapMb + overheadMb + pysparkMb
}

/**
 * @param cpus where the driver's JVM should run; all allowed CPUs when it is not bound
 * @param overheadMb what its process takes beside the heap
 */
final case class DriverPlan(
    cpus: IdSet,
    memoryNodes: IdSet,
    bound: Boolean,
    heapMb: Long,
    overheadMb: Long
) {
  def memoryMb: Long = heapMb + overheadMb
}

/**
 * @param decision what was decided, such as `executors`
 * @param value the outcome, such as `12`
 * @param because one sentence
 * @param source where the rule comes from: a study (docs/sources.md), a kernel, JVM or
 *               Spark document, `hearth` where it is our own judgement, or `user`
 */
final case class Reason(decision: String, value: String, because: String, source: String)

/** What was decided, and why. */
final private[plan] case class Decided[A](value: A, reason: Reason)

/**
 * Nothing fits: the constraint that rules it out.
 *
 * @param name what does not fit, such as `--memory` or `spark.executor.memory`
 * @param value what was asked for
 * @param limit what there is
 * @param remedy what to do next
 */
final case class Unfit(name: String, value: String, limit: String, remedy: String) {
  def message: String = s"$what: $limit; $remedy"

  /** Without why and what to do, where a sentence has reasons of its own. */
  def what: String = s"$name: $value does not fit"
}
