package io.hearth.width

import java.lang.management.{ManagementFactory, MemoryType}

import scala.jdk.CollectionConverters._

/** Bytes of a JVM's heap: what its last collections left in use, or what is in use where there was none; and the most. */
final case class HeapUse(live: Long, most: Long)

object HeapUse {
  def now(): HeapUse = {
    val pools = ManagementFactory.getMemoryPoolMXBeans.asScala.filter(_.getType == MemoryType.HEAP)
    val left = pools.flatMap(pool => Option(pool.getCollectionUsage)).map(_.getUsed).sum
    val heap = ManagementFactory.getMemoryMXBean.getHeapMemoryUsage
    HeapUse(if (left > 0) left else heap.getUsed, heap.getMax)
  }
}

/** How full an executor's heap is, as it tells its driver. */
final case class HeapReport(executorId: String, heap: HeapUse)
