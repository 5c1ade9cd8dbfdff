package io.hearth.shuffle

import java.util.concurrent.atomic.LongAdder

/** What has been carried so far. Any thread may use it. */
final class Traffic {
  private val ucx = new Traffic.Way
  private val tcp = new Traffic.Way
  private val others = new LongAdder
  private val toPeers = new LongAdder

  private def way(carriedBy: String): Traffic.Way = if (carriedBy == "ucx") ucx else tcp

  def fetched(carriedBy: String, bytes: Long): Unit = way(carriedBy).add(bytes)
  def handedOver(blocks: Int): Unit = others.add(blocks.toLong)
  def served(bytes: Long): Unit = toPeers.add(bytes)

  def fetchedBytes(carriedBy: String): Long = way(carriedBy).bytes.sum
  def fetchedBlocks(carriedBy: String): Long = way(carriedBy).blocks.sum

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
