package io.hearth.shuffle

import java.util.concurrent.atomic.LongAdder

/** What has been carried so far. Any thread may use it. */
final class Traffic {
  private val ucx = new Traffic.Way
  private val tcp = new Traffic.Way
  private val others = new LongAdder
  private val toPeers = new LongAdder

  private def way(transport: String): Traffic.Way = if (transport == "ucx") ucx else tcp

  def fetched(transport: String, bytes: Long): Unit = way(transport).add(bytes)
  def handedOver(blocks: Int): Unit = others.add(blocks.toLong)
  def served(bytes: Long): Unit = toPeers.add(bytes)

  def fetchedBytes(transport: String): Long = way(transport).bytes.sum
  def fetchedBlocks(transport: String): Long = way(transport).blocks.sum

  /** Blocks that were asked for over Spark's own transfer instead. */
  def handedOverBlocks: Long = others.sum
  def servedBytes: Long = toPeers.sum
}

private object Traffic {

  final private class Way {
    val bytes = new LongAdder
    val blocks = new LongAdder

    def add(more: Long): Unit = {
      bytes.add(more)
      blocks.increment()
    }
  }
}
