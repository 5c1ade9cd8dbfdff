package io.hearth.core.plan

/**
 * A native engine that runs Spark SQL's operators in an executor's process: what a plan must know of it.
 *
 * @param plugins classes of `spark.plugins` that load it
 * @param shuffleManager its own, which its operators need to shuffle columns; None where the class depends
 *                       on Spark's version
 * @param offHeap whether its data are in Spark's off-heap memory, without which it does nothing
 * @param hostSizes settings of memory that it takes beside the heap and Spark's off-heap memory: a part of the overhead
 * @param heapHolds the setting with which its data count against the heap, and the off-heap settings do nothing
 * @param coresAreThreads whether it starts `spark.executor.cores` worker threads, and one without that setting
 * @param sized whether hearth's rule for the number of shuffle partitions works on its plans
 */
sealed abstract class Engine(
    val name: String,
    private[plan] val plugins: Vector[String],
    private[plan] val shuffleManager: Option[String],
    private[plan] val offHeap: Boolean,
    private[plan] val hostSizes: Vector[String],
    private[plan] val heapHolds: Option[String],
    private[plan] val coresAreThreads: Boolean,
    val sized: Boolean
) {

  /** What runs on it is SQL, unless the user says otherwise. */
  private[plan] def workload(asked: Workload): Workload =
    asked.copy(kind = asked.kind.orElse(Some(WorkloadKind.Sql)))

  /** Native threads that it starts for so many task slots. */
  private[plan] def threads(slots: Int): Int = if (coresAreThreads) slots else 0
}

object Engine {

  /** Comet 1.2.0: native/core/src/execution/jni_api.rs, CometDriverPlugin, its tuning guide. */
  case object Comet
      extends Engine(
        "Comet",
        Vector("org.apache.spark.CometPlugin"),
        Some("org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"),
        offHeap = true,
        hostSizes = Vector.empty,
        heapHolds = None,
        coresAreThreads = true,
        sized = true
      )

  /** By its documentation (Configuration.md, velox-configuration.md): threads follow the task slots by themselves. */
  case object Gluten
      extends Engine(
        "Gluten",
        Vector("org.apache.gluten.GlutenPlugin", "io.glutenproject.GlutenPlugin"),
        Some("org.apache.spark.shuffle.sort.ColumnarShuffleManager"),
        offHeap = true,
        hostSizes = Vector.empty,
        heapHolds = Some("spark.gluten.memory.dynamic.offHeap.sizing.enabled"),
        coresAreThreads = false,
        sized = false
      )

  /** By its documentation: data are on the GPU; the heap stays Spark's, pinned memory comes beside it. */
  case object Rapids
      extends Engine(
        "RAPIDS",
        Vector("com.nvidia.spark.SQLPlugin"),
        None,
        offHeap = false,
        hostSizes = Vector(
          "spark.rapids.memory.pinnedPool.size",
          "spark.rapids.memory.host.offHeapLimit.size",
          "spark.rapids.memory.host.spillStorageSize"
        ),
        heapHolds = None,
        coresAreThreads = false,
        sized = false
      )

  val All: Vector[Engine] = Vector(Comet, Gluten, Rapids)

  val PluginsKey = "spark.plugins"
  val ShuffleManagerKey = "spark.shuffle.manager"

  /** The user's settings that name an engine or size it. */
  private[plan] val Keys: Set[String] =
    All
      .flatMap(engine => engine.hostSizes ++ engine.heapHolds)
      .toSet + PluginsKey + ShuffleManagerKey

  /** Least off-heap memory of an executor's engine; hearth's own figure. */
  private[plan] val MinOffHeapMb = 512L

  /** Of an executor's memory, the heap where the engine's data are off it; hearth's own figure. */
  private[plan] val HeapsPart = 4L

  /**
   * What a process with native code takes beside heap and off-heap memory: of the heap, and at least, in MiB. Comet's
   * guide advises more than Spark's tenth, as much of what it allocates is in no pool; hearth's own figures.
   */
  private[plan] val OverheadFactor = 0.2
  private[plan] val MinOverheadMb = 1024L

  /** The engine that these settings name, by its plugin or by its shuffle manager. */
  def of(conf: String => Option[String]): Option[Engine] = {
    val plugins = conf(PluginsKey).toVector.flatMap(_.split(',')).map(_.trim)
    val manager = conf(ShuffleManagerKey).map(_.trim)
    All.find(engine =>
      engine.plugins.exists(plugins.contains) ||
        manager.exists(engine.shuffleManager.contains)
    )
  }

  /** Settings without which the engine does nothing, or less than it can. */
  private[plan] def settings(constraints: UserConstraints, slots: Int, native: Boolean) =
    constraints.engine.fold(Map.empty[String, String]) { engine =>
      val manager = engine.shuffleManager.map(ShuffleManagerKey -> _)
      // A native plan has no executors, whose cores would be set anyway.
      val cores = Option.when(native && engine.coresAreThreads)("spark.executor.cores" -> s"$slots")
      (manager ++ cores).toMap
    }

  private[plan] def reason(constraints: UserConstraints): Option[Reason] =
    constraints.engine.map { engine =>
      val memory =
        if (constraints.engineOffHeap && constraints.offHeapMb.exists(_.value == 0))
          s"warning: it does nothing without off-heap memory, which ${constraints.offHeapMb.fold("")(_.name)} turns off"
        else if (constraints.heapHolds.nonEmpty)
          s"its data count against the heap (${constraints.heapHolds.mkString}), which is all of the executor's memory"
        else if (engine.offHeap)
          "its data are in off-heap memory, so the heap is a fourth of the executor's memory"
        else "its data are on the GPU, and pinned memory counts beside the heap"
      val shuffle = engine.shuffleManager.fold("Spark's own shuffle")(_ => "its own shuffle")
      val rule =
        if (engine.sized) "" else "; hearth's sizing of shuffle partitions by query is off"
      Reason(
        "native engine",
        engine.name,
        s"$memory; $shuffle takes the place of hearth's$rule; its threads are bound with their executor",
        "user"
      )
    }
}
