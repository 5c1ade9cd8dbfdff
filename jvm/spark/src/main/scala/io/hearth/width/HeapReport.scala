package io.hearth.width

import java.lang.management.ManagementFactory

/** How full an executor's heap is, as it tells its driver: the part that is in use, garbage among it. */
final case class HeapReport(executorId: String, part: Double)

object HeapReport {

  /** Of this JVM. */
  def part(): Double = {
    val heap = ManagementFactory.getMemoryMXBean.getHeapMemoryUsage
    heap.getUsed.toDouble / heap.getMax
  }
}
