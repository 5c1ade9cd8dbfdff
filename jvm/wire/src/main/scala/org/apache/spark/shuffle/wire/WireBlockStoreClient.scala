package org.apache.spark.shuffle.wire

import java.io.{FilterInputStream, InputStream}
import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicInteger

import com.codahale.metrics.MetricSet
import io.netty.buffer.Unpooled
import io.netty.util.IllegalReferenceCountException
import org.apache.spark.network.buffer.ManagedBuffer
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
import org.apache.spark.util.io.ChunkedByteBuffer

import io.hearth.shuffle.{FetchSink, Chunk, ShuffleWire}
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
      wire.traffic.handedOverBlocks.add(missing.size.toLong)
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
      else
        peer.whenComplete { (way, trouble) =>
          val known = Option(way).getOrElse(Left(String.valueOf(trouble)))
          later(_ => over(known), listener)(blocks.toIndexedSeq)
        }
    }
  }

  /** Connecting may take minutes: not on the wire's threads. Whatever goes wrong, the listener hears of each block. */
  private def later(
      fetch: IndexedSeq[String] => Unit,
      listener: BlockFetchingListener
  ): IndexedSeq[String] => Unit = missing => {
    def telling(work: => Unit): Unit =
      try work
      catch { case trouble: Throwable => missing.foreach(listener.onBlockFetchFailure(_, trouble)) }
    telling(wire.mayWait.execute(() => telling(fetch(missing))))
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

/** Blocks in memory of the wire's, or of Netty's pool as Spark's own transfer has them. */
private class ForSpark(listener: BlockFetchingListener, elsewhere: IndexedSeq[String] => Unit)
    extends FetchSink {
  private val pool = NettyUtils.getSharedPooledByteBufAllocator(true, true)

  override def room(bytes: Int): Chunk = {
    val memory = pool.directBuffer(bytes, bytes)
    Chunk(memory.nioBuffer(0, bytes), () => { memory.release(); () })
  }

  override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit = {
    val whole =
      try new PiecesManagedBuffer(chunks)
      catch {
        case trouble: Throwable =>
          chunks.foreach(_.free())
          throw trouble
      }
    // Once the listener has been asked, nobody else may bring the block: it might have taken it.
    try listener.onBlockFetchSuccess(block, whole)
    catch { case trouble: Throwable => listener.onBlockFetchFailure(block, trouble) }
    finally whole.release()
  }

  /** Spark waits until memory is free where it hears of this error. */
  override def failed(missing: IndexedSeq[String], why: Throwable): Unit = why match {
    case full: OutOfMemoryError => missing.foreach(listener.onBlockFetchFailure(_, full))
    case _ => elsewhere(missing)
  }
}

/**
 * A block whose pieces are freed with its last reference. Spark releases it when its task ends, though a thread of that
 * task may still read it (`RDD.pipe` has one): each read holds a reference of its own, and after the last one fails as
 * Netty's do.
 */
final private[wire] class PiecesManagedBuffer(chunks: IndexedSeq[Chunk]) extends ManagedBuffer {
  private val content = new ChunkedByteBuffer(chunks.map(_.bytes).toArray)
  private val references = new AtomicInteger(1)

  override def size: Long = content.size

  override def nioByteBuffer(): ByteBuffer = reading(content.toByteBuffer)

  override def createInputStream(): InputStream =
    new FilterInputStream(content.toInputStream(dispose = false)) {
      override def read(): Int = reading(in.read())
      override def read(to: Array[Byte], from: Int, count: Int): Int =
        reading(in.read(to, from, count))
    }

  override def convertToNetty(): AnyRef = Unpooled.wrappedBuffer(content.getChunks(): _*)

  override def convertToNettyForSsl(): AnyRef = convertToNetty()

  /** Does something with the memory, which is not freed meanwhile. */
  private[wire] def reading[A](work: => A): A = {
    retain()
    try work
    finally { release(); () }
  }

  override def retain(): ManagedBuffer = {
    if (references.getAndUpdate(n => if (n == 0) 0 else n + 1) == 0)
      throw new IllegalReferenceCountException(0)
    this
  }

  override def release(): ManagedBuffer = {
    if (references.decrementAndGet() == 0) chunks.foreach(_.free())
    this
  }
}
