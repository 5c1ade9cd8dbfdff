package io.hearth.core.plan

/**
 * What is known of the heap that an application needs, in all its executors together.
 *
 * @param mb the need, where the input is known and work off the heap does not take it
 * @param small whether one heap holds the whole input
 * @param perSlotMb what each task slot should have, of kinds that keep their data on the heap
 */
final private[plan] case class HeapNeed(mb: Option[Long], small: Boolean, perSlotMb: Option[Long])

private[plan] object HeapNeed {

  /**
   * Heap that holds a byte of input: data grows about threefold as Java objects (Spark's tuning guide
   * says two to five), and Spark keeps 0.6 of a heap for data and execution. The container study asks
   * for a heap larger than the input; how much larger is hearth's.
   */
  val PerInputByte = 5L

  /** For machine learning and graphs, which keep what they iterate over on the heap; hearth's own figure. */
  val PerSlotMb = 4096L

  def of(workload: Workload): HeapNeed = {
    val whole =
      workload.inputBytes.map(bytes => (BigInt(bytes) * PerInputByte >> 20).min(Long.MaxValue / 2))
    val mb = whole.map(_.toLong)
    val offHeap = workload.kind.exists(OffHeap.takes)
    val small = mb.exists(_ <= Memory.CompressedOopsMb)
    HeapNeed(
      mb.filterNot(_ => offHeap),
      small,
      workload.kind
        .filter(kind => kind == WorkloadKind.Ml || kind == WorkloadKind.Graph)
        .map(_ => PerSlotMb)
    )
  }

  /** The largest heaps that a plan chooses and that this memory holds, at least 1. */
  def heapsIn(memoryMb: Long, constraints: UserConstraints): Int = {
    val each = constraints.footprintOf(Memory.CompressedOopsMb)
    math.max(1L, (memoryMb + each / 2) / each).min(Int.MaxValue.toLong).toInt
  }
}
