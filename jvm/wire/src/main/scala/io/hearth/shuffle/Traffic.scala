package io.hearth.shuffle

import java.util.concurrent.atomic.LongAdder

/** What has been carried so far. Any thread may use it. */
final class Traffic {
  val servedBytes = new LongAdder

  /** Blocks that were asked for over Spark's own transfer instead. */
  val handedOverBlocks = new LongAdder

  /** By transport. */
  val fetchedBytes: Map[String, LongAdder] = Traffic.byTransport
  val fetchedBlocks: Map[String, LongAdder] = Traffic.byTransport

  def fetched(transport: String, bytes: Long): Unit = {
    fetchedBytes(transport).add(bytes)
    fetchedBlocks(transport).increment()
  }
}

object Traffic {
  val Transports: Seq[String] = Seq("ucx", "tcp")

  private def byTransport: Map[String, LongAdder] = Transports.map(_ -> new LongAdder).toMap
}
