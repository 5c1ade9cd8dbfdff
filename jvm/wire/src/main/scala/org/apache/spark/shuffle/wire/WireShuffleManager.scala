package org.apache.spark.shuffle.wire

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.{ShuffleDependency, SparkConf, SparkEnv}
import org.apache.spark.shuffle.{JoiningShuffleManager, ShuffleHandle}

/**
 * Spark's sort shuffle, fetching the blocks of other executors over hearth's wire: `spark.shuffle.manager`, on any
 * cluster manager.
 *
 * Reading, limits of memory, metrics and failures stay Spark's: only what brings a block is replaced
 * ([[WireBlockStoreClient]]). Where there can be no wire, one line says why, and Spark's own transfer brings all.
 */
private[spark] class WireShuffleManager(conf: SparkConf, isDriver: Boolean)
    extends JoiningShuffleManager(conf) {
  private val settings = WireShuffleSettings.of(conf) // a wrong value ends the application here

  /** In an executor, from its first task on, when its block manager is there. */
  private lazy val end = ExecutorsWire.open(settings, shuffleBlockResolver)
  private val listening = new AtomicBoolean(false)

  override def registerShuffle[K, V, C](
      id: Int,
      dependency: ShuffleDependency[K, V, C]
  ): ShuffleHandle = {
    listenForExecutors()
    super.registerShuffle(id, dependency)
  }

  /** In the driver, before there is a task that shuffles. */
  private def listenForExecutors(): Unit =
    if (isDriver && settings.whyNot.isEmpty && listening.compareAndSet(false, true)) {
      val rpc = SparkEnv.get.rpcEnv
      rpc.setupEndpoint(WireDirectory.Name, new WireDirectory(rpc))
    }

  override protected def join(): Unit = if (!isDriver) {
    val why = settings.whyNot.orElse(end.left.toOption)
    why.foreach(reason => logWarning(s"${ExecutorsWire.Off}: $reason"))
  }

  override def stop(): Unit = {
    if (!isDriver && hasJoined && settings.whyNot.isEmpty) end.foreach(_.close())
    super.stop()
  }
}
