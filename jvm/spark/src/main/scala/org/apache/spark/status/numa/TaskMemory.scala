package org.apache.spark.status.numa

import org.apache.spark.SparkContext
import org.apache.spark.internal.config.{MEMORY_OFFHEAP_ENABLED, MEMORY_STORAGE_FRACTION}
import org.apache.spark.status.api.v1.MemoryMetrics

/** What executors, or the one JVM of a local master, have said of their memory and slots. */
object TaskMemory {

  /**
   * Bytes of a task's share of execution memory, however much is cached and with all slots busy, in
   * the executor that has least; None where none has said it yet. Spark promises half of it.
   */
  def share(sc: SparkContext): Option[Long] = {
    val shares = for {
      executor <- sc.statusStore.executorList(activeOnly = true)
      memory <- executor.memoryMetrics
      // The driver of a cluster has no slots.
      if executor.maxTasks > 0
    } yield execution(sc, memory) / executor.maxTasks
    shares.minOption
  }

  /**
   * Storage may keep its fraction. In Spark 4.0 and 4.1 a hash table whose key is a number is on the
   * heap also where off-heap memory is on.
   */
  private def execution(sc: SparkContext, memory: MemoryMetrics): Long = {
    val offHeap = Option.when(sc.conf.get(MEMORY_OFFHEAP_ENABLED))(memory.totalOffHeapStorageMemory)
    val least = (Seq(memory.totalOnHeapStorageMemory) ++ offHeap).min
    (least * (1 - sc.conf.get(MEMORY_STORAGE_FRACTION))).toLong
  }
}
