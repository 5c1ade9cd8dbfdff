package io.hearth.core.plan

/** Whether one JVM runs everything, and why. */
final private[plan] case class Partitioning(native: Boolean, because: String, source: String)

private[plan] object Partitioning {

  /** On one node, up to so many cores: two executors' worth, which one JVM's collector serves well. */
  val FewCores = 8

  /** On the whole machine, whatever its nodes: too few to divide. */
  val VeryFewCores = 4

  /** Cores beyond which one JVM stopped getting faster in S5. */
  val OneJvmScales = 60

  /**
   * Heap that holds a byte of input: data grows about threefold as Java objects (Spark's tuning guide
   * says two to five), and Spark keeps 0.6 of a heap for data and execution.
   */
  val HeapPerInputByte = 5L

  def decide(
      ground: Ground,
      fixed: Fixed,
      workload: Workload,
      pools: Pools,
      occupied: Boolean
  ): Partitioning =
    forced(fixed, occupied)
      .orElse(fewCores(ground))
      .orElse(dataFits(ground, fixed, workload, pools))
      .getOrElse(partitioned(ground))

  private def forced(fixed: Fixed, occupied: Boolean): Option[Partitioning] =
    if (fixed.shaped)
      Some(Partitioning(native = false, s"${asked(fixed)} asks for executors of its own", "user"))
    else if (twoHeaps(fixed))
      Some(
        Partitioning(native = false, "executor and driver heaps are both fixed and differ", "user")
      )
    else
      Option.when(occupied)(
        Partitioning(
          native = false,
          "other CPUs are occupied, and one JVM of Spark's own local mode would run on them",
          "hearth"
        )
      )

  private def asked(fixed: Fixed): String =
    ((fixed.executors ++ fixed.cores).map(_.name) ++ fixed.dynamic.map(_ => "dynamic allocation"))
      .mkString(" and ")

  private def twoHeaps(fixed: Fixed): Boolean =
    (fixed.heapMb ++ fixed.driverHeapMb).map(_.value).toSet.size > 1

  private def fewCores(ground: Ground): Option[Partitioning] = {
    val cores = ground.cores.size
    if (ground.nodes.sizeIs == 1 && cores <= FewCores)
      Some(
        Partitioning(
          native = true,
          s"one NUMA node with $cores cores: no remote memory to avoid, and up to $FewCores cores " +
            "one JVM's collector keeps up",
          "S5"
        )
      )
    else
      Option.when(cores <= VeryFewCores)(
        Partitioning(native = true, s"$cores cores are too few to divide", "S5")
      )
  }

  private def dataFits(
      ground: Ground,
      fixed: Fixed,
      workload: Workload,
      pools: Pools
  ): Option[Partitioning] =
    for {
      bytes <- workload.inputBytes
      need = (BigInt(bytes) * HeapPerInputByte >> 20).toLong
      heap = math.min(
        fixed.heapWithin(pools.memoryMb),
        fixed.heapMb.fold(Memory.CompressedOopsMb)(_.value)
      )
      if ground.nodes.sizeIs == 1 && ground.cores.size < OneJvmScales && need <= heap
    } yield Partitioning(
      native = true,
      s"a heap of ${Sizes.show(heap)} holds the input ($HeapPerInputByte bytes of heap for each byte), " +
        s"on one NUMA node and below the $OneJvmScales cores where one JVM stops scaling",
      "S5"
    )

  private def partitioned(ground: Ground): Partitioning =
    if (ground.nodes.sizeIs > 1)
      Partitioning(
        native = false,
        s"${ground.nodes.size} NUMA nodes and ${ground.cores.size} cores: several bound executors read " +
          "local memory and spend less on garbage collection than one heap, even where one would hold the data",
        "S4"
      )
    else
      Partitioning(
        native = false,
        s"${ground.cores.size} cores on one NUMA node: several small heaps spend less on garbage " +
          "collection than one large one",
        "S4"
      )
}
