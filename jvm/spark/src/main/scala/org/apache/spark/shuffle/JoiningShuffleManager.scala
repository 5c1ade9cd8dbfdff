package org.apache.spark.shuffle

import org.apache.spark.{SparkConf, TaskContext}
import org.apache.spark.shuffle.sort.SortShuffleManager

/** Spark's sort shuffle, in which an executor joins the others before its first task writes or reads. */
abstract private[spark] class JoiningShuffleManager(conf: SparkConf)
    extends SortShuffleManager(conf) {
  @volatile private var joined = false

  /** Done once, by the first task: its executor's block manager is there. */
  protected def join(): Unit

  protected def hasJoined: Boolean = joined

  /** Others wait for the first. */
  final protected def joinOnce(): Unit = if (!joined) synchronized {
    if (!joined) {
      join()
      joined = true
    }
  }

  override def getWriter[K, V](
      handle: ShuffleHandle,
      mapId: Long,
      context: TaskContext,
      metrics: ShuffleWriteMetricsReporter
  ): ShuffleWriter[K, V] = {
    joinOnce()
    super.getWriter(handle, mapId, context, metrics)
  }

  override def getReader[K, C](
      handle: ShuffleHandle,
      startMapIndex: Int,
      endMapIndex: Int,
      startPartition: Int,
      endPartition: Int,
      context: TaskContext,
      metrics: ShuffleReadMetricsReporter
  ): ShuffleReader[K, C] = {
    joinOnce()
    super
      .getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics)
  }
}
