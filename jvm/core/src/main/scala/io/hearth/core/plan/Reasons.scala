package io.hearth.core.plan

import io.hearth.core.Redaction

/** Why each decision of a plan was made: a sentence and its source, in the order of the decisions. */
final private[plan] class Reasons(draft: PlanDraft) {
  import draft._

  private val bounds = new BoundReasons(draft)

  def all: Vector[Reason] =
    Vector(
      choice.reason,
      choice.expected,
      usable.cpusReason,
      TasksPerCore.of(workload, usable.topology).reason(usable, constraints)
    ) ++ layout.reason ++ Engine.reason(constraints) ++ bounds.all ++ placement ++ memory ++
      jvm.reasons ++ Vector(
        driver.reason,
        driverHeap.reason,
        localDir.reason,
        partitions.reason
      ) ++ ShuffleFiles.reason(constraints) ++
      GeneratedClasses.reason(minHeapMb, constraints) ++
      OperatorPages.reason(heapMb, layout.narrowest, offHeapMb, constraints) ++ scheduling ++ users

  private def placement = Option.unless(native)(Locality.reason(usable, layout))

  /** What Spark's own local mode has no part in. */
  private def scheduling =
    if (native) Vector.empty
    else Vector(DerivedSettings.waitReason(constraints), Some(hosts.reason), handOver).flatten

  private def memory =
    (memoryReason +: tiersReason.toVector) ++
      Vector(heaps.reason, offHeap.reason, overhead.reason, pageCache.reason)

  /** What the mode does by this plan; nothing where it can do nothing. */
  private def handOver: Option[Reason] = {
    val mode = constraints.conf.getOrElse(HearthKeys.HandOver.name, "off")
    val within = Option.when(layout.placements.sizeIs > 1)(
      "CPUs of idle executors are opened, while no task is pending, to executors whose threads wait for CPUs, as " +
        "native threads in a stage's last tasks do"
    )
    val because = mode match {
      case "off" if layout.shared =>
        Some("executors share the CPUs of their package, so an idle one's are in use")
      case "off" =>
        val tail = within.map(does => s"; with ${HearthKeys.HandOver.name}=tail $does")
        tail.map("each executor keeps to its own CPUs" + _)
      case _ => within
    }
    because.map(Reason(Reasons.HandOver, mode, _, "Kyong 2017; hearth"))
  }

  private def users: Vector[Reason] =
    constraints.conf.removed(DerivedSettings.Redaction).toVector.sorted.map { case (key, value) =>
      Reason(key, redaction.setting(key, value), Reasons.FixedByUser, "user")
    }

  private def redaction = Redaction.of(constraints.conf.get)
}

private[plan] object Reasons {
  val HandOver = "hand-over"
  val FixedByUser = "fixed by the user"
}
