package io.hearth.core.plan

/** The Spark settings that follow from a plan; the user's own always win. */
object DerivedSettings {
  private[plan] val DriverOptions = "spark.driver.extraJavaOptions"

  private[plan] val Redaction = "spark.redaction.regex"

  /** What the user's keys say of the memory that an executor takes beside its heap. */
  val BesideHeap: Set[String] = Set(
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.executor.minMemoryOverhead",
    "spark.executor.pyspark.memory",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.memory.offHeap.enabled",
    "spark.memory.offHeap.size",
    "spark.yarn.executor.memoryOverhead"
  )

  /** The user's keys that a plan depends on: another value would give another plan. */
  val Read: Set[String] = Set(
    "spark.cores.max",
    "spark.driver.defaultJavaOptions",
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    "spark.driver.memoryOverheadFactor",
    "spark.driver.minMemoryOverhead",
    DriverOptions,
    "spark.dynamicAllocation.enabled",
    "spark.dynamicAllocation.initialExecutors",
    "spark.dynamicAllocation.maxExecutors",
    "spark.dynamicAllocation.minExecutors",
    "spark.executor.cores",
    "spark.executor.defaultJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.executor.instances",
    "spark.executor.memory",
    HearthKeys.BindingScope.name,
    HearthKeys.HandOver.name,
    HearthKeys.ShuffleMemory.name,
    HearthKeys.Width.name,
    "spark.locality.wait",
    "spark.task.cpus",
    "spark.yarn.driver.memoryOverhead"
  ) ++ BesideHeap ++ JvmEnvironment.ExecutorKeys ++ Engine.Keys

  /** Keys that a plan may set. */
  val Derived: Set[String] = Set(
    "spark.driver.memory",
    DriverOptions,
    "spark.dynamicAllocation.maxExecutors",
    "spark.executor.cores",
    "spark.executor.instances",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.local.dir",
    "spark.locality.wait.node",
    "spark.locality.wait.process",
    "spark.locality.wait.rack",
    "spark.memory.offHeap.enabled",
    "spark.memory.offHeap.size",
    "spark.scheduler.revive.interval",
    Engine.ShuffleManagerKey,
    ShuffleFiles.Key,
    GeneratedClasses.Key,
    OperatorPages.Key,
    "spark.sql.shuffle.partitions"
  )

  /** Of a custom resource, such as GPUs. */
  private[plan] val ResourceAmount = raw"spark\.(executor|task)\.resource\.[^.]+\.amount".r

  /** Whether a plan depends on a key of the user's. */
  def isRead(key: String): Boolean = Read.contains(key) || ResourceAmount.matches(key)

  /** Whether a key concerns a plan. */
  def known(key: String): Boolean = isRead(key) || Derived.contains(key)

  /** Input bytes of one task; Spark's own default for files (spark.sql.files.maxPartitionBytes). */
  private[plan] val PartitionBytes: Long = 128L << 20

  /** Tasks that run at the same time. */
  private[plan] def atOnce(slots: Int, constraints: UserConstraints): Int =
    math.max(1, slots / constraints.taskCpus)

  private[plan] def ofExecutors(
      layout: Layout,
      heapMb: Long,
      offHeapMb: Long,
      overheadMb: Long,
      constraints: UserConstraints
  ) = {
    val count = layout.placements.size
    val counted =
      if (constraints.dynamic.isEmpty) "spark.executor.instances" -> s"$count"
      else "spark.dynamicAllocation.maxExecutors" -> s"$count"
    Map(
      counted,
      "spark.executor.cores" -> s"${layout.narrowest}",
      "spark.executor.memory" -> s"${heapMb}m",
      "spark.executor.memoryOverhead" -> s"${overheadMb}m"
    ) ++ offHeap(offHeapMb) ++ (if (waitsAsSet(constraints)) Map.empty else Waits)
  }

  private val Waits = Map(
    "spark.locality.wait.process" -> "100ms",
    "spark.locality.wait.node" -> "100ms",
    "spark.locality.wait.rack" -> "0s",
    "spark.scheduler.revive.interval" -> "100ms"
  )

  /** A wait set for each level would override the user's single wait for all levels. */
  private[plan] def waitsAsSet(constraints: UserConstraints): Boolean =
    constraints.conf.contains("spark.locality.wait")

  private[plan] def waitReason(constraints: UserConstraints): Option[Reason] =
    Option.unless(waitsAsSet(constraints))(
      Reason(
        "locality wait",
        "process and node 100ms, rack 0s",
        "memory on another node costs about 10 %, a waiting task slot 100 %; Spark also checks every " +
          "100 ms, not every second, for tasks that have waited long enough",
        "Awan 2016; Spark: spark.locality.wait, spark.scheduler.revive.interval"
      )
    )

  private[plan] def offHeap(mb: Long): Map[String, String] =
    if (mb == 0) Map.empty
    else Map("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> s"${mb}m")

  private[plan] def ofAll(
      partitions: Option[Int],
      driverHeapMb: Long,
      minHeapMb: Long,
      localDir: Option[String],
      constraints: UserConstraints
  ): Map[String, String] =
    Map("spark.driver.memory" -> s"${driverHeapMb}m") ++ ShuffleFiles.settings(constraints) ++
      GeneratedClasses.settings(minHeapMb, constraints) ++
      partitions.map(ShufflePartitions.Key -> _.toString) ++
      localDir.map("spark.local.dir" -> _)
}
