package io.hearth.core.plan

import io.hearth.core.Counted

/**
 * Whether one JVM runs everything, and why.
 *
 * @param forced whether separate executors are needed, however few
 * @param measured what is known of the gain from several executors
 */
final private[plan] case class Partitioning(
    native: Boolean,
    because: String,
    source: String,
    forced: Boolean = false,
    measured: Vector[Reason] = Vector.empty
) {

  def reason: Reason =
    Reason("partition", if (native) "native" else "partitioned", because, source)

  /** What the decision is expected to gain over Spark's local mode, and who measured it. */
  def expected: Reason = {
    def gain(value: String, because: String, source: String) = Reason(
      Partitioning.Gain,
      value,
      s"$because; `hearth compare` measures it on this machine",
      source
    )
    if (native)
      gain(
        "none from binding",
        "Spark's local mode is one JVM too; heap, collector and settings may still help",
        "hearth"
      )
    else if (forced) gain("unknown", "the shape follows from what was fixed", source)
    else if (measured.isEmpty)
      gain("unknown", "no study measured such executors on such work", "hearth")
    else
      gain(
        measured.map(_.value).mkString("; "),
        measured.map(_.because).mkString("; "),
        measured.flatMap(_.source.split("; ")).distinct.mkString("; ")
      )
  }
}

private[plan] object Partitioning {
  val Gain = "expected gain"

  /** On one node, one JVM runs everything with fewer task slots than this: hearth's judgement. */
  val FewSlots = 32

  /** On the whole machine, whatever its nodes: too few to divide. hearth's number as well. */
  val VeryFewSlots = 4
}

/** Whether a machine is partitioned for an application, and why; its pools hold what is fixed. */
final private[plan] class PartitionRules(
    usable: UsableMachine,
    constraints: UserConstraints,
    workload: Workload,
    pools: Pools
) {
  import Partitioning._

  def decide(occupied: Boolean): Partitioning = forced(occupied)
    .orElse(fewSlots)
    .orElse(dataFits)
    .getOrElse(Partitioning(native = false, "", ""))

  private def forced(occupied: Boolean): Option[Partitioning] = {
    def bound(because: String, source: String) =
      Some(Partitioning(native = false, because, source, forced = true))
    if (constraints.shaped) bound(s"$shapedBy separate executors", "user")
    else if (twoHeaps)
      bound("executor and driver heaps are both fixed and differ", "user")
    else if (occupied)
      bound(
        "other CPUs are occupied, and one JVM of Spark's own local mode would run on them",
        "hearth"
      )
    else
      resource.flatMap(key =>
        bound(s"$key needs executors: Spark's own local mode has no resources to give", "user")
      )
  }

  private def shapedBy: String = {
    val names = (constraints.executors ++ constraints.cores).map(_.name) ++
      constraints.dynamic.map(_ => "dynamic allocation")
    s"${names.mkString(" and ")} ${if (names.size == 1) "needs" else "need"}"
  }

  private def resource: Option[String] =
    constraints.conf.keys.filter(DerivedSettings.ResourceAmount.matches).minOption

  private def twoHeaps: Boolean =
    (constraints.heapMb ++ constraints.driverHeapMb).map(_.value).toSet.size > 1

  /** Slots that may work at once; a CPU quota counts as so many. */
  private def atOnce: Int = usable.quotaSlots.getOrElse(usable.slots)

  private def fewSlots: Option[Partitioning] = {
    val slots = atOnce
    val what =
      usable.quotaSlots.fold(Counted(slots, "task slot"))(n =>
        s"${usable.quotaName} is worth ${Counted(n, "task")} at once,"
      )
    def native(because: String, source: String) =
      Some(Partitioning(native = true, because, source))
    if (usable.nodes.sizeIs == 1 && slots < FewSlots)
      if (exceedsOneHeap) None
      else {
        val plain = usable.nodes.head.memoryMb > 0 && usable.memoryOnly.isEmpty
        val local = if (plain) "no remote memory to avoid, and " else ""
        native(
          s"$what on one NUMA node: ${local}one JVM scales to this size (the limit of $FewSlots is hearth's own " +
            "rule; two executors of 8 took 4 % longer than one JVM of 16)",
          "Kyong 2017; hearth"
        )
      }
    else if (slots <= VeryFewSlots) {
      val are = if (usable.quotaSlots.nonEmpty) "" else if (slots == 1) "is " else "are "
      native(s"$what ${are}too few to divide", "Kyong 2017; hearth")
    } else None
  }

  /** Whether several heaps of the largest size hold more of what the input needs, each for enough slots. */
  private def exceedsOneHeap: Boolean =
    HeapNeed.of(workload).mb.exists(_ > Memory.CompressedOopsMb) && constraints.heapMb.isEmpty &&
      HeapNeed.heapsIn(pools.memoryMb, constraints) > 1 && atOnce >= 2 * Widths.MinSlots

  private def dataFits: Option[Partitioning] =
    for {
      bytes <- workload.inputBytes
      need = (BigInt(bytes) * HeapNeed.PerInputByte >> 20).toLong
      room = Room.of(constraints, Vector(usable.placement), Vector(pools.memoryMb), workload).head
      heap = math.min(constraints.heapWithin(pools.memoryMb), Memory.heap(constraints, room))
      if usable.nodes.sizeIs == 1 && atOnce < Widths.OneJvmScales && need <= heap
    } yield Partitioning(
      native = true,
      s"a heap of ${Sizes.show(heap)} holds the input (${HeapNeed.PerInputByte} bytes of heap for each byte, " +
        s"hearth's own figure); the study names no limit of cores; to apply it to one NUMA node with fewer " +
        s"than ${Widths.OneJvmScales} task slots, where one JVM stops scaling, is hearth's own rule",
      "Kyong 2017; hearth"
    )

  /** Why there are several executors, in terms of the layout that was found. */
  def several(layout: Layout): Partitioning = {
    val nodes = usable.nodes.size
    val slots = Counted(layout.slots, "task slot")
    if (nodes == 1)
      HeapNeed.of(workload).mb match {
        case Some(need) if layout.slots < FewSlots =>
          Partitioning(
            native = false,
            s"the input needs ${Sizes.show(need)} of heap (${HeapNeed.PerInputByte} bytes for each byte, hearth's " +
              "own figure), and a heap with 4-byte references has at most 31 GB",
            "hearth; JVM: compressed oops"
          )
        case _ =>
          Partitioning(
            native = false,
            s"$slots on one NUMA node: partitions of 15 cores were faster than one JVM up to 60 cores, and of 30 " +
              "beyond; to divide one node of more than 32 slots is hearth's judgement",
            "Kyong 2017; hearth",
            measured = Gains.of(usable, layout, workload)
          )
      }
    else {
      val read =
        if (Locality.of(usable, layout).forall(_.local)) "read local memory and " else ""
      Partitioning(
        native = false,
        s"$nodes NUMA nodes and $slots: several bound executors ${read}spend less on garbage collection than one " +
          "heap, even where one would hold the data",
        "Awan 2016",
        measured = Gains.of(usable, layout, workload)
      )
    }
  }

  /** Where one executor would have every CPU, one JVM does it all: a second one gains nothing. */
  def one: Partitioning = {
    val count = usable.cores.size
    val cores = Counted(count, "core")
    val slots = Counted(usable.slots, "task slot")
    val because =
      if (
        usable.slots <= Widths.MaxSlots && constraints.heapMb.isEmpty && constraints.taskCpus == 1
      )
        s"$cores ${if (count == 1) "makes" else "make"} $slots, enough for one executor, so one JVM runs everything"
      else if (constraints.heapMb.nonEmpty || constraints.taskCpus > 1)
        s"the fixed sizes leave one executor on $cores, so one JVM runs everything"
      else s"memory suffices for one executor on $cores, so one JVM runs everything"
    Partitioning(native = true, because, "hearth")
  }

  /** Where several executors would fit beside a smaller driver. */
  def crowded(driver: UserValue[Long]): Partitioning = Partitioning(
    native = true,
    s"${driver.name} leaves no memory for several executors, so one JVM with that heap runs everything",
    "user"
  )

  /** One executor that leaves CPUs free is bound to its own: one JVM would wander over all. */
  def oneBound: Partitioning = {
    val quota = usable.quotaSlots.map(_ => s"${usable.quotaName}'s task slots")
    val few = constraints.coresMax.map(_.name).orElse(quota).getOrElse("the task slots")
    Partitioning(
      native = false,
      s"$few leave one executor, which is bound to keep it near its memory",
      if (constraints.coresMax.isEmpty && quota.nonEmpty) "hearth" else "user"
    )
  }
}
