package io.hearth.core.plan

/**
 * How much memory an operator of Spark's takes at a time. Each aggregate, sort and shuffle of each task
 * takes one page at least. Spark's page grows with the heap, up to 64 MB, as an array that is cleared first,
 * goes to the old generation and is collected there, however little of it was used.
 */
private[plan] object OperatorPages {
  val Key = "spark.buffer.pageSize"

  /** Holds the 65,536 groups of the map that generated aggregates begin with, at 64 bytes each. */
  private val MinMb = 4L

  /** A task has 8192 pages (TaskMemoryManager): twice of what holds all of the heap. */
  private val OfHeap = 8192 / 2

  /** Of the heap, by default: what tasks share at first, and the part of a task's share that is a page. */
  private val Execution = 0.6 * 0.5
  private val OfShare = 16

  /** None where Spark's are not larger; nor off the heap, where a page that is not used costs nothing. */
  private def mb(heapMb: Long, slots: Int, offHeapMb: Long): Option[Long] = {
    val least = math.max(MinMb, heapMb / OfHeap)
    val page = java.lang.Long.highestOneBit(2 * least - 1)
    Option.when(offHeapMb == 0 && heapMb * Execution / slots / OfShare > page)(page)
  }

  def settings(heapMb: Long, slots: Int, offHeapMb: Long): Map[String, String] =
    mb(heapMb, slots, offHeapMb).map(page => Key -> s"${page}m").toMap

  def reason(
      heapMb: Long,
      slots: Int,
      offHeapMb: Long,
      constraints: UserConstraints
  ): Option[Reason] =
    mb(heapMb, slots, offHeapMb).filterNot(_ => constraints.conf.contains(Key)).map { page =>
      Reason(
        "operators' pages",
        s"$page MB",
        "each aggregate and sort of a task takes one at least; Spark's, of up to 64 MB, fill the heap with " +
          "memory that nothing is written to",
        "hearth: measured on 2 CPUs; Spark: MemoryManager"
      )
    }
}
