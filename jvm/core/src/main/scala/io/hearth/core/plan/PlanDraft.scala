package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch}

/** What a plan depends on besides the machine and the user's numbers. */
final private[plan] case class PlanInputs(
    workload: Workload,
    asked: Limits,
    choice: Partitioning,
    scratch: Option[Scratch]
)

/** Executors, and the memory from which theirs is taken. */
final private[plan] case class Arrangement(pools: Pools, layout: Layout)

/** A layout with everything that follows from it: memory, flags, settings and reasons. */
final private[plan] class PlanDraft(
    val usable: UsableMachine,
    val fixed: Fixed,
    arrangement: Arrangement,
    inputs: PlanInputs
) {
  val pools: Pools = arrangement.pools
  val layout: Layout = arrangement.layout
  val workload: Workload = inputs.workload
  val choice: Partitioning = inputs.choice
  val native: Boolean = choice.native
  val rooms: Vector[Room] = Room.of(fixed, layout.sites, layout.roomsMb, workload)
  val heapsMb: Vector[Long] = rooms.map(Memory.heap(fixed, _))
  val pageCache: PageCache = PageCache.of(fixed, workload, heapsMb, rooms)

  /** The smallest heap: that of the executor with the fewest task slots. */
  val heapMb: Long = heapsMb.min

  val offHeap: OffHeap = OffHeap.of(fixed, workload, heapsMb, rooms)
  val offHeapMb: Long = offHeap.mb
  val overheadMb: Long = fixed.overheadOf(heapMb)
  val driverHeap: DriverHeap =
    if (native) DriverHeap.ofOneJvm(fixed, heapMb) else DriverHeap.ofItsOwn(fixed, pools.usableMb)
  val driverHeapMb: Long = driverHeap.mb

  val driver: DriverPlan =
    if (native) DriverPlan(usable.cpus, pools.memoryNodes, bound = false, heapMb)
    else DriverPlace.place(usable, pools, layout, driverHeapMb)

  val partitions: ShufflePartitions =
    ShufflePartitions.of(DerivedSettings.atOnce(layout.slots, fixed), workload, fixed)

  private val executorsMb = heapsMb.iterator
    .map(heap => fixed.footprintOf(heap) - fixed.offHeapMb.fold(0L)(_.value) + offHeapMb)
    .sum
  val spareMb: Long = math.max(0L, pools.memoryMb - executorsMb - pageCache.mb)
  val localDir: ScratchChoice = ScratchChoice.of(workload, spareMb, inputs.scratch)

  private lazy val executors: Vector[ExecutorPlan] = {
    val hosts =
      Hosts.of(layout.sites.zip(layout.nodes).map { case (site, nodes) => nodeOf(site, nodes) })
    layout.sites.indices.toVector.map(i => executor(i, hosts(i)))
  }

  private def nodeOf(site: Site, memory: IdSet): Int =
    usable.coreOf(site.cpus.head).node.getOrElse(if (memory.isEmpty) 0 else memory.head)

  /** CPUs by which the pools of an executor's JVM are sized: its own, or its share of the CPU quota. */
  def part(id: Int): Int = {
    val site = layout.sites(id)
    val own = if (native) usable.cpus.size else site.part
    usable.quota.fold(own)(quota =>
      math.max(1, math.min(own, (quota * site.slots / layout.slots).toInt))
    )
  }

  /** Whether executors share the CPUs of their package. */
  val shared: Boolean = layout.sites.exists(_.sharing.nonEmpty)

  private def executor(id: Int, host: String): ExecutorPlan = {
    val site = layout.sites(id)
    val heap = heapsMb(id)
    val cpus = if (native) usable.cpus else IdSet.from(site.cpus)
    val nodes = if (native) pools.memoryNodes else layout.nodes(id)
    val users = if (native) fixed.driverJavaOptions else fixed.javaOptions
    val options = Collector.own(heap, part(id), allOptions) ++ users
    ExecutorPlan(
      id,
      cpus,
      nodes,
      site.slots,
      heap,
      offHeapMb,
      fixed.overheadOf(heap),
      options,
      host
    )
  }

  /** All of the user's that executors have; of the driver where it is the only JVM. */
  def allOptions: Vector[String] = if (native) fixed.allDriverOptions else fixed.allJavaOptions

  private def master: String =
    if (native) s"local[${layout.slots}]"
    else if (layout.uniform) s"local-numa[${layout.sites.size}x${layout.narrowest}]"
    else s"local-numa[${layout.sites.size}]"

  private def conf: Map[String, String] = {
    val ours =
      if (native) DerivedSettings.offHeap(offHeapMb)
      else DerivedSettings.ofExecutors(layout, heapMb, offHeapMb, overheadMb, fixed)
    (DerivedSettings.ofAll(
      partitions.number,
      driverHeapMb,
      localDir.path
    ) ++ ours) -- fixed.conf.keys ++ driverOptions
  }

  /** Followed by the user's own options: both share one key. A driver beside executors gets no collector. */
  private def driverOptions: Option[(String, String)] = {
    val users = fixed.allDriverOptions
    val ours =
      if (native) Collector.own(heapMb, part(0), users)
      else SecondCompiler.options(usable.quotaSlots.getOrElse(usable.cpus.size), users)
    Option.when(ours.nonEmpty)(DerivedSettings.DriverOptions -> JavaOptions.join(ours))
  }

  def plan: Plan = Plan(
    if (native) PlanMode.Native else PlanMode.Partitioned,
    master,
    executors,
    driver,
    conf,
    new Reasons(this, executors).all,
    workload,
    inputs.asked.copy(conf = Map.empty, environment = Map.empty)
  )
}
