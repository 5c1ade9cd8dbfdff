package io.hearth.core.plan

/**
 * Whether one JVM runs everything, and why.
 *
 * @param forced whether separate executors are needed, however few
 * @param remark what else bears on the gain from several executors
 */
final private[plan] case class Partitioning(
    native: Boolean,
    because: String,
    source: String,
    forced: Boolean = false,
    remark: String = ""
) {

  /** What the decision is expected to gain over Spark's local mode, and who measured it. */
  def expected: Reason = {
    def gain(value: String, because: String, source: String) = Reason(
      "expected gain",
      value,
      s"$because; `hearth compare` measures it on this machine",
      source
    )
    if (native)
      gain(
        "none from binding",
        "one JVM is what Spark's local mode is; heap, collector and settings may help",
        "hearth"
      )
    else if (forced) gain("unknown", "the shape follows from what was fixed", source)
    else
      gain(
        "up to 36 % faster",
        s"several executors instead of one of the same size spend less time on garbage collection$remark",
        "Awan 2016"
      )
  }
}

private[plan] object Partitioning {

  /**
   * On one node, up to this many cores (two executors' worth) one JVM runs everything. The container
   * study (Kyong 2017) runs few cores natively and names no number: this one is hearth's.
   */
  val FewCores = 8

  /** On the whole machine, whatever its nodes: too few to divide. hearth's number as well. */
  val VeryFewCores = 4

  /** Cores beyond which one JVM stopped getting faster (Kyong 2017); as a limit it is hearth's. */
  val OneJvmScales = 60

  /**
   * Heap that holds a byte of input: data grows about threefold as Java objects (Spark's tuning guide
   * says two to five), and Spark keeps 0.6 of a heap for data and execution. The container study asks
   * for a heap larger than the input; how much larger is hearth's.
   */
  val HeapPerInputByte = 5L

  def decide(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload,
      pools: Pools,
      occupied: Boolean
  ): Partitioning =
    forced(constraints, occupied)
      .orElse(fewCores(usable))
      .orElse(smallQuota(usable))
      .orElse(dataFits(usable, constraints, workload, pools))
      .getOrElse(Partitioning(native = false, "", ""))

  private def forced(constraints: UserConstraints, occupied: Boolean): Option[Partitioning] = {
    def bound(because: String, source: String) =
      Some(Partitioning(native = false, because, source, forced = true))
    if (constraints.shaped) bound(s"${asked(constraints)} needs separate executors", "user")
    else if (twoHeaps(constraints))
      bound("executor and driver heaps are both fixed and differ", "user")
    else if (occupied)
      bound(
        "other CPUs are occupied, and one JVM of Spark's own local mode would run on them",
        "hearth"
      )
    else None
  }

  private def asked(constraints: UserConstraints): String =
    ((constraints.executors ++ constraints.cores).map(_.name) ++ constraints.dynamic.map(_ =>
      "dynamic allocation"
    ))
      .mkString(" and ")

  private def twoHeaps(constraints: UserConstraints): Boolean =
    (constraints.heapMb ++ constraints.driverHeapMb).map(_.value).toSet.size > 1

  private def fewCores(usable: UsableMachine): Option[Partitioning] = {
    val cores = usable.cores.size
    if (usable.nodes.sizeIs == 1 && cores <= FewCores) {
      val own = usable.nodes.head.memoryMb > 0 && usable.memoryOnly.isEmpty
      val local = if (own) "no remote memory to avoid, and " else ""
      val because =
        s"one NUMA node with $cores cores: ${local}one JVM scales on few cores (that up to " +
          s"$FewCores are few is hearth's rule)"
      Some(Partitioning(native = true, because, "Kyong 2017; hearth"))
    } else
      Option.when(cores <= VeryFewCores)(
        Partitioning(native = true, s"$cores cores are too few to divide", "Kyong 2017; hearth")
      )
  }

  /** A quota counts as so many cores. */
  private def smallQuota(usable: UsableMachine): Option[Partitioning] = {
    val few = if (usable.nodes.sizeIs == 1) FewCores else VeryFewCores
    usable.quotaSlots.filter(_ <= few).map { slots =>
      val because = s"the CPU quota is worth $slots tasks at once, too few to divide"
      Partitioning(native = true, because, "Kyong 2017")
    }
  }

  private def dataFits(
      usable: UsableMachine,
      constraints: UserConstraints,
      workload: Workload,
      pools: Pools
  ): Option[Partitioning] =
    for {
      bytes <- workload.inputBytes
      need = (BigInt(bytes) * HeapPerInputByte >> 20).toLong
      room = Room.of(constraints, Vector(usable.placement), Vector(pools.memoryMb), workload).head
      heap = math.min(constraints.heapWithin(pools.memoryMb), Memory.heap(constraints, room))
      if usable.nodes.sizeIs == 1 && usable.cores.size < OneJvmScales && need <= heap
    } yield Partitioning(
      native = true,
      s"a heap of ${Sizes.show(heap)} holds the input ($HeapPerInputByte bytes of heap for each byte, " +
        s"hearth's own figure), on one NUMA node with fewer than the $OneJvmScales cores at which one JVM " +
        "stops scaling",
      "Kyong 2017; hearth"
    )

  /** Why there are several executors, in terms of the layout that was found. */
  def several(usable: UsableMachine, layout: Layout, workload: Workload): Partitioning = {
    val nodes = usable.nodes.size
    val cores = usable.cores.size
    val because =
      if (nodes == 1)
        s"$cores cores on one NUMA node: several small heaps spend less on garbage collection than " +
          "one large one"
      else if (Locality.of(usable, layout).forall(_.local))
        s"$nodes NUMA nodes and $cores cores: several bound executors read local memory and spend " +
          "less on garbage collection than one heap, even where one would hold the data"
      else
        s"$nodes NUMA nodes and $cores cores: several bound executors spend less on garbage " +
          "collection than one heap, even where one would hold the data"
    val remark =
      if (nodes > 1 || usable.memoryOnly.nonEmpty)
        ", and remote memory costs about 10 % on average"
      else if (workload.inputBytes.isEmpty)
        ", but where one heap held the input the phases of three jobs took 4 % longer on 16 CPUs of one " +
          "node (hearth), so give --input"
      else ""
    Partitioning(native = false, because, "Awan 2016", remark = remark)
  }

  /** Where one executor would have every CPU, one JVM does it all: a second one gains nothing. */
  def one(usable: UsableMachine, constraints: UserConstraints): Partitioning = {
    val cores = s"${usable.cores.size} cores"
    val because =
      if (usable.slots < Layouts.TargetSlots * 3 / 2)
        s"$cores make ${usable.slots} task slots, enough for one executor, so one JVM runs everything"
      else if (constraints.heapMb.nonEmpty || constraints.taskCpus > 1)
        s"the fixed sizes leave one executor on $cores, so one JVM runs everything"
      else s"memory suffices for one executor on $cores, so one JVM runs everything"
    Partitioning(native = true, because, "hearth")
  }

  /** One executor that leaves CPUs free is bound to its own: one JVM would wander over all. */
  def oneBound(usable: UsableMachine, constraints: UserConstraints): Partitioning = {
    val quota = usable.quotaSlots.map(_ => "the CPU quota's task slots")
    val few = constraints.coresMax.map(_.name).orElse(quota).getOrElse("the task slots")
    Partitioning(
      native = false,
      s"$few leave one executor, which is bound so that it stays near its memory",
      if (constraints.coresMax.isEmpty && quota.nonEmpty) "hearth" else "user"
    )
  }
}
