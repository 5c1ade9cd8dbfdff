package org.apache.spark.shuffle.wire

import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import com.codahale.metrics.MetricSet
import io.netty.buffer.ByteBuf
import org.apache.spark.network.buffer.{ManagedBuffer, NettyManagedBuffer}
import org.apache.spark.network.shuffle.{
  BlockFetchingListener,
  BlockPushingListener,
  BlockStoreClient,
  DownloadFileManager,
  MergeFinalizerListener,
  MergedBlocksMetaListener
}
import org.apache.spark.network.shuffle.checksum.Cause
import org.apache.spark.network.util.NettyUtils
import org.apache.spark.storage.{BlockId, ShuffleBlockBatchId, ShuffleBlockId}

import io.hearth.shuffle.{Landing, ShuffleWire}
import io.hearth.transport.Connection

/**
 * Fetches shuffle blocks over the wire, and over Spark's own transfer what has no wire or did not come over it: that
 * tries again, knows lost executors, and fails as Spark expects.
 *
 * A request that Spark wants on disk, because it is too long for memory, is left to Spark.
 */
final private[spark] class WireBlockStoreClient(sparks: BlockStoreClient, wire: ShuffleWire)
    extends BlockStoreClient {

  override def fetchBlocks(
      host: String,
      port: Int,
      executor: String,
      blocks: Array[String],
      listener: BlockFetchingListener,
      toDisk: DownloadFileManager
  ): Unit = {
    def overSparks(missing: IndexedSeq[String]): Unit = {
      wire.traffic.handedOver(missing.size)
      sparks.fetchBlocks(host, port, executor, missing.toArray, listener, toDisk)
    }
    def over(way: Either[String, Connection]): Unit = way match {
      case Right(connection) =>
        wire.fetch(
          executor,
          connection,
          blocks.toIndexedSeq,
          new ForSpark(listener, later(overSparks, listener))
        )
      case Left(_) => overSparks(blocks.toIndexedSeq)
    }
    if (toDisk != null || !blocks.forall(isShuffleBlock)) overSparks(blocks.toIndexedSeq)
    else {
      val peer = wire.peer(executor)
      if (peer.isDone) over(peer.join())
      else peer.thenAcceptAsync(way => over(way), wire.mayWait)
    }
  }

  /** Connecting may take minutes: not on the wire's threads. */
  private def later(
      fetch: IndexedSeq[String] => Unit,
      listener: BlockFetchingListener
  ): IndexedSeq[String] => Unit =
    missing =>
      wire.mayWait.execute { () =>
        try fetch(missing)
        catch {
          case NonFatal(trouble) => missing.foreach(listener.onBlockFetchFailure(_, trouble))
        }
      }

  private def isShuffleBlock(name: String): Boolean = BlockId(name) match {
    case _: ShuffleBlockId | _: ShuffleBlockBatchId => true
    case _ => false
  }

  // --- all else is Spark's ---

  override def shuffleMetrics(): MetricSet = sparks.shuffleMetrics()

  override def diagnoseCorruption(
      host: String,
      port: Int,
      executor: String,
      shuffle: Int,
      map: Long,
      reduce: Int,
      checksum: Long,
      algorithm: String
  ): Cause =
    sparks.diagnoseCorruption(host, port, executor, shuffle, map, reduce, checksum, algorithm)

  override def setAppAttemptId(id: String): Unit = sparks.setAppAttemptId(id)

  override def getAppAttemptId: String = sparks.getAppAttemptId

  override def getHostLocalDirs(
      host: String,
      port: Int,
      executors: Array[String],
      found: CompletableFuture[java.util.Map[String, Array[String]]]
  ): Unit = sparks.getHostLocalDirs(host, port, executors, found)

  override def pushBlocks(
      host: String,
      port: Int,
      blocks: Array[String],
      content: Array[ManagedBuffer],
      listener: BlockPushingListener
  ): Unit = sparks.pushBlocks(host, port, blocks, content, listener)

  override def finalizeShuffleMerge(
      host: String,
      port: Int,
      shuffle: Int,
      merge: Int,
      listener: MergeFinalizerListener
  ): Unit = sparks.finalizeShuffleMerge(host, port, shuffle, merge, listener)

  override def getMergedBlockMeta(
      host: String,
      port: Int,
      shuffle: Int,
      merge: Int,
      reduce: Int,
      listener: MergedBlocksMetaListener
  ): Unit = sparks.getMergedBlockMeta(host, port, shuffle, merge, reduce, listener)

  override def removeShuffleMerge(host: String, port: Int, shuffle: Int, merge: Int): Boolean =
    sparks.removeShuffleMerge(host, port, shuffle, merge)

  /** Both have an owner that closes them: the shuffle manager the wire, the block manager Spark's transfer. */
  override def close(): Unit = ()
}

/** Blocks in memory of Netty's pool, as Spark's own transfer has them. */
private class ForSpark(listener: BlockFetchingListener, elsewhere: IndexedSeq[String] => Unit)
    extends Landing {
  private val pool = NettyUtils.getSharedPooledByteBufAllocator(true, true)

  override def room(block: String, bytes: Int): Landing.Room =
    new ForSpark.Room(
      pool.directBuffer(bytes, bytes),
      bytes,
      listener.onBlockFetchSuccess(block, _)
    )

  /** Spark waits until memory is free where it hears of this error. */
  override def failed(missing: IndexedSeq[String], why: Throwable): Unit = why match {
    case full: OutOfMemoryError => missing.foreach(listener.onBlockFetchFailure(_, full))
    case _ => elsewhere(missing)
  }
}

private object ForSpark {

  final private class Room(content: ByteBuf, bytes: Int, deliver: ManagedBuffer => Unit)
      extends Landing.Room {
    override val memory: ByteBuffer = content.nioBuffer(0, bytes)

    override def arrived(): Unit = {
      content.writerIndex(bytes)
      val whole = new NettyManagedBuffer(content)
      try deliver(whole)
      finally whole.release()
    }

    override def drop(): Unit = content.release()
  }
}
