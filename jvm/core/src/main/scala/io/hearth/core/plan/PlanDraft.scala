package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, Scratch}

/** What a plan depends on beside the machine and the user's numbers. */
final private[plan] case class Setting(
    workload: Workload,
    choice: Partitioning,
    scratch: Option[Scratch]
)

/** A layout with all that follows from it: memory, flags, settings and reasons. */
final private[plan] class PlanDraft(
    val ground: Ground,
    val fixed: Fixed,
    val pools: Pools,
    val layout: Layout,
    setting: Setting
) {
  val workload: Workload = setting.workload
  val choice: Partitioning = setting.choice
  val native: Boolean = choice.native
  val heapMb: Long = Memory.heap(fixed, layout.roomMb)
  val offHeapMb: Long = Memory.offHeap(fixed, workload, heapMb, layout.roomMb)
  val overheadMb: Long = fixed.overheadOf(heapMb)
  val driverHeapMb: Long = if (native) heapMb else DriverPlace.heap(fixed, pools.usableMb)

  val driver: DriverPlan =
    if (native) DriverPlan(ground.cpus, pools.memoryNodes, bound = false, heapMb)
    else DriverPlace.place(ground, pools, layout, driverHeapMb)

  /** Tasks at once, and shuffle partitions as a multiple of them. */
  val atOnce: Int = Settings.atOnce(layout.slots, fixed)
  val partitions: Int = Settings.partitions(atOnce, workload)

  private val executorMb = fixed.footprintOf(heapMb) - fixed.offHeapMb.fold(0L)(_.value) + offHeapMb
  val spareMb: Long = math.max(0L, pools.memoryMb - executorMb * layout.sites.size)
  val localDir: ScratchChoice = ScratchChoice.of(workload, spareMb, setting.scratch)

  private val userDriverOptions =
    fixed.conf.get("spark.driver.extraJavaOptions").fold(Vector.empty[String])(JavaOptions.split)

  private lazy val executors: Vector[ExecutorPlan] = {
    val hosts =
      Hosts.of(layout.sites.zip(layout.nodes).map { case (site, nodes) => nodeOf(site, nodes) })
    layout.sites.indices.toVector.map(i => executor(i, hosts(i)))
  }

  private def nodeOf(site: Site, memory: IdSet): Int =
    ground.coreOf(site.cpus.head).node.getOrElse(if (memory.isEmpty) 0 else memory.head)

  private def executor(id: Int, host: String): ExecutorPlan = {
    val site = layout.sites(id)
    val cpus = if (native) ground.cpus else IdSet.from(site.cpus)
    val nodes = if (native) pools.memoryNodes else layout.nodes(id)
    val options =
      Collector.options(heapMb, cpus.size, if (native) userDriverOptions else fixed.javaOptions)
    ExecutorPlan(id, cpus, nodes, site.slots, heapMb, offHeapMb, overheadMb, options, host)
  }

  private def master: String =
    if (native) s"local[${layout.slots}]"
    else if (layout.uniform) s"local-numa[${layout.sites.size}x${layout.narrowest}]"
    else s"local-numa[${layout.sites.size}]"

  private def conf: Map[String, String] = {
    val ours =
      if (native) Settings.offHeap(offHeapMb)
      else Settings.ofExecutors(layout, heapMb, offHeapMb, overheadMb, fixed)
    val all = Settings.ofAll(partitions, driverHeapMb, localDir.path) ++ ours ++ fixed.conf
    if (native)
      all.updated("spark.driver.extraJavaOptions", JavaOptions.join(executors.head.javaOptions))
    else all
  }

  def plan: Plan = Plan(
    if (native) PlanMode.Native else PlanMode.Partitioned,
    master,
    executors,
    driver,
    conf,
    new Reasons(this, executors).all
  )
}
