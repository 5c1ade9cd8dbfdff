package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch}

/** What a plan depends on besides the machine and the user's numbers. */
final private[plan] case class PlanInputs(
    workload: Workload,
    asked: Limits,
    choice: Partitioning,
    scratch: Option[Scratch]
)

/** A layout with everything that follows from it: memory, flags, settings and reasons. */
final private[plan] class PlanDraft(
    val usable: UsableMachine,
    val constraints: UserConstraints,
    arrangement: Arrangement,
    inputs: PlanInputs
) {
  val memoryReason: Reason = arrangement.reason(usable, constraints, inputs.choice.native)
  val tiersReason: Option[Reason] = arrangement.tiers(usable)
  val pools: Pools = arrangement.pools
  val layout: Layout = arrangement.layout
  val workload: Workload = inputs.workload
  val choice: Partitioning = inputs.choice
  val native: Boolean = choice.native
  val rooms: Vector[Room] = Room.of(constraints, layout.placements, layout.roomsMb, workload)
  val heaps: Decided[Vector[Long]] = Heaps.of(constraints, layout, rooms, allOptions)
  val heapsMb: Vector[Long] = heaps.value
  val pageCache: Decided[Long] = PageCache.of(constraints, workload, heapsMb, rooms)

  /** The smallest heap: that of the executor with the fewest task slots. */
  val heapMb: Long = heapsMb.min

  val offHeap: Decided[Long] = OffHeap.of(constraints, workload, heapsMb, rooms)
  val offHeapMb: Long = offHeap.value
  val overhead: Decided[Vector[Long]] = Overhead.of(constraints, workload, heapsMb)
  val driverHeap: Decided[Long] =
    DriverPlacement.heap(constraints, pools.usableMb, Option.when(native)(heapMb))
  val driverHeapMb: Long = driverHeap.value
  val minHeapMb: Long = math.min(heapMb, driverHeapMb)

  val driver: Decided[DriverPlan] = DriverPlacement.of(
    usable,
    pools.memoryNodes,
    layout.cpus,
    native,
    driverHeapMb,
    if (native) overhead.value.min else constraints.driverOverhead.of(driverHeapMb)
  )

  val partitions: Decided[Option[Int]] =
    ShufflePartitions.of(DerivedSettings.atOnce(layout.slots, constraints), workload, constraints)

  private val executorsMb: Vector[Long] =
    heapsMb.map(constraints.footprintOf(_, offHeapMb))
  val spareMb: Long = math.max(0L, pools.memoryMb - executorsMb.sum - pageCache.value)

  /** A file in memory is on the node of the executor that writes it, so the one with least for a slot decides. */
  private val spareForFilesMb: Long = {
    val perSlot = layout.placements.indices.map { i =>
      val left = rooms(i).mb - executorsMb(i)
      (left - math.min(rooms(i).cacheMb, left)) / layout.placements(i).slots
    }
    math.min(spareMb, perSlot.min * layout.slots)
  }
  val localDir: Decided[Option[String]] =
    ScratchChoice.of(constraints, workload, spareForFilesMb, inputs.scratch)

  val hosts: Decided[Vector[String]] = Hosts.of(
    layout.placements.zip(layout.nodes).map { case (placement, nodes) => nodeOf(placement, nodes) },
    layout.shared
  )

  private def nodeOf(placement: Placement, memory: IdSet): Int =
    usable.coreOf(placement.cpus.head).node.getOrElse(if (memory.isEmpty) 0 else memory.head)

  /** CPUs by which the pools of an executor's JVM are sized: its own, or its share of the CPU quota. */
  def part(id: Int): Int = {
    val placement = layout.placements(id)
    val cpus = if (native) usable.cpus.size else placement.part
    usable.quota.fold(cpus)(quota =>
      math.max(1, math.min(cpus, (quota * placement.slots / layout.slots).toInt))
    )
  }

  lazy val jvm: JvmFlags = new JvmFlags(this)

  private def executor(id: Int, host: String): ExecutorPlan = {
    val placement = layout.placements(id)
    val heap = heapsMb(id)
    val cpus = if (native) usable.cpus else IdSet.from(placement.cpus)
    val nodes = if (native) pools.memoryNodes else layout.nodes(id)
    ExecutorPlan(
      id,
      cpus,
      nodes,
      placement.slots,
      heap,
      offHeapMb,
      overhead.value(id),
      constraints.pysparkMb,
      jvm.of(id),
      host
    )
  }

  /** All of the user's that executors have; of the driver where it is the only JVM. */
  def allOptions: Vector[String] =
    if (native) constraints.allDriverOptions else constraints.allJavaOptions

  private def master: String =
    if (native) s"local[${layout.slots}]"
    else if (layout.uniform) s"local-numa[${layout.placements.size}x${layout.narrowest}]"
    else s"local-numa[${layout.placements.size}]"

  private def conf: Map[String, String] = {
    val ours =
      if (native) DerivedSettings.offHeap(offHeapMb)
      else DerivedSettings.ofExecutors(layout, heapMb, offHeapMb, overhead.value.min, constraints)
    (DerivedSettings.ofAll(
      partitions.value,
      driverHeapMb,
      minHeapMb,
      localDir.value,
      constraints
    ) ++ OperatorPages.settings(heapMb, layout.narrowest, offHeapMb) ++ ours ++ Engine.settings(
      constraints,
      layout.slots,
      native
    )) -- constraints.conf.keys ++ driverOptions
  }

  /** Followed by the user's own options: both share one key. A driver beside executors gets no collector. */
  private def driverOptions: Option[(String, String)] = {
    val users = constraints.allDriverOptions
    val ours =
      if (native) jvm.of(0)
      else SecondCompiler.options(usable.quotaSlots.getOrElse(usable.cpus.size), users)
    Option.when(ours.nonEmpty)(DerivedSettings.DriverOptions -> JavaOptions.join(ours))
  }

  def plan: Plan = Plan(
    if (native) PlanMode.Native else PlanMode.Partitioned,
    master,
    hosts.value.zipWithIndex.map { case (host, id) => executor(id, host) },
    driver.value,
    conf,
    new Reasons(this).all,
    workload,
    inputs.asked.copy(conf = Map.empty, environment = Map.empty)
  )
}
