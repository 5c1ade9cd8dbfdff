package org.apache.spark.shuffle.numa

import java.nio.file.Path

import org.apache.spark.{FetchFailed, SparkConf, SparkEnv, TaskContext}
import org.apache.spark.internal.config.{
  SHUFFLE_HOST_LOCAL_DISK_READING_ENABLED,
  SHUFFLE_USE_OLD_FETCH_PROTOCOL,
  STORAGE_LOCAL_DISK_BY_EXECUTORS_CACHE_SIZE
}
import org.apache.spark.shuffle._
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.storage.{BlockId, BlockManagerId, HostLocalDirManager}

import io.hearth.driver.{BestEffort, LocalDirsRegistry}

/**
 * Spark's sort shuffle, reading the output of every executor on this machine from the file.
 *
 * Spark does so by itself only among executors of one host name, and not with dynamic allocation unless an
 * external shuffle service runs. Here each NUMA node is a host, and directories are known from a registry of
 * files, so neither condition applies. A block that is not where the registry says fails the fetch, as a
 * remote one would, and Spark computes it again.
 */
private[spark] class NumaShuffleManager(conf: SparkConf) extends JoiningShuffleManager(conf) {
  private val registry = new LocalDirsRegistry(Path.of(conf.get(NumaShuffleManager.RegistryKey)))

  /** As Spark has it of executors of one host. */
  private val readsFiles =
    conf.get(SHUFFLE_HOST_LOCAL_DISK_READING_ENABLED) && !conf.get(SHUFFLE_USE_OLD_FETCH_PROTOCOL)
  private val publishing = new BestEffort(
    "Other executors fetch shuffle blocks of this one over a socket, as its directories cannot be published",
    logWarning(_)
  )

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
    val base = handle.asInstanceOf[BaseShuffleHandle[K, _, C]]
    if (base.dependency.shuffleMergeEnabled || !readsFiles)
      super.getReader(
        handle,
        startMapIndex,
        endMapIndex,
        startPartition,
        endPartition,
        context,
        metrics
      )
    else {
      val blocks = SparkEnv.get.mapOutputTracker
        .getMapSizesByExecutorId(
          handle.shuffleId,
          startMapIndex,
          endMapIndex,
          startPartition,
          endPartition
        )
        .toVector
      context.addTaskFailureListener((_, _) =>
        blameWriter(context, handle.shuffleId, blocks.map(_._1))
      )
      new BlockStoreShuffleReader(
        base,
        blocks.iterator.map(onThisHost),
        context,
        metrics,
        shouldBatchFetch =
          SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context)
      )
    }
  }

  /** Names an executor of this machine as one of this executor's own host: Spark then reads its files. */
  private def onThisHost(
      blocks: (BlockManagerId, collection.Seq[(BlockId, Long, Int)])
  ): (BlockManagerId, collection.Seq[(BlockId, Long, Int)]) = {
    val (address, infos) = blocks
    val here = SparkEnv.get.blockManager.blockManagerId.host
    if (address.host == here || registry.dirsOf(address.executorId).isEmpty) blocks
    else BlockManagerId(address.executorId, here, address.port, address.topologyInfo) -> infos
  }

  /**
   * Makes a failed fetch anew under the address of the block's writer, which the task then reports: by it
   * Spark forgets map output, and may exclude a host.
   */
  private def blameWriter(
      context: TaskContext,
      shuffleId: Int,
      writers: Seq[BlockManagerId]
  ): Unit =
    for (failure <- context.fetchFailed) failure.toTaskFailedReason match {
      case FetchFailed(named, `shuffleId`, mapId, mapIndex, reduceId, _) =>
        writers.find(_.executorId == named.executorId).filter(_ != named).foreach { writer =>
          context.setFetchFailed(
            new FetchFailedException(
              writer,
              shuffleId,
              mapId,
              mapIndex,
              reduceId,
              failure.getMessage,
              failure.getCause
            )
          )
        }
      case _ => ()
    }

  /** Publishes this executor's directories, and knows the others'. */
  override protected def join(): Unit = if (readsFiles) {
    val manager = SparkEnv.get.blockManager
    publishing.attempt(
      registry.publish(
        SparkEnv.get.executorId,
        manager.diskBlockManager.localDirsString.toIndexedSeq
      )
    )
    manager.hostLocalDirManager = Some(new RegisteredLocalDirs(registry))
  }
}

private[spark] object NumaShuffleManager {

  /** Internal: the application's own directory in which executors publish where their blocks are. */
  val RegistryKey: String = "spark.hearth.internal.executors"
}

/** Knows the directories of every executor from the registry, and asks nobody over a socket. */
private class RegisteredLocalDirs(registry: LocalDirsRegistry)
    extends HostLocalDirManager(
      SparkEnv.get.conf.get(STORAGE_LOCAL_DISK_BY_EXECUTORS_CACHE_SIZE),
      SparkEnv.get.blockManager.blockStoreClient
    ) {

  override def getCachedHostLocalDirs: Map[String, Array[String]] = registry.all

  override def getCachedHostLocalDirsFor(executorId: String): Option[Array[String]] =
    registry.dirsOf(executorId)
}
