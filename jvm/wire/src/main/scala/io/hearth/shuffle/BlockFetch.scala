package io.hearth.shuffle

import java.nio.ByteBuffer
import java.util.concurrent.{ConcurrentSkipListMap, Executor}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import scala.jdk.CollectionConverters._

import io.hearth.transport.{Connection, Message}

/** Where fetched blocks go. Called by several threads; each block arrives once, or is among those that failed. */
trait FetchSink {

  /** Memory to copy a part of a block to; the piece is handed over. */
  def room(bytes: Int): Chunk

  /**
   * A block is there, in pieces that are handed over, in their order; none where it is empty. Where this throws, the
   * block is among those that failed.
   */
  def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit

  /** What has not arrived, and will not. */
  def failed(blocks: IndexedSeq[String], why: Throwable): Unit
}

/**
 * Fetches blocks from one peer: at first as much of them as one message may have, which says how long they are, then
 * the rest, several messages at a time. When anything goes wrong, an Error too, nothing more is asked for, and what has
 * not arrived has failed: nobody waits for ever.
 *
 * @param retained the answers whose memory the blocks keep
 * @param workers copy what is not kept
 */
final private[shuffle] class BlockFetch(
    connection: Connection,
    blocks: IndexedSeq[String],
    sink: FetchSink,
    limits: BlockFetch.Limits,
    retained: RetainedBudget,
    workers: Executor,
    traffic: Traffic
) {
  require(
    blocks.nonEmpty && blocks.size <= FetchRequest.MaxBlocks,
    s"${blocks.size} blocks at once"
  )

  private var begun = IndexedSeq.empty[Begun]
  private var requestedBytes = 0L
  private var underWay = 0
  private var failure = Option.empty[Throwable]

  def start(): Unit = {
    synchronized(underWay += 1)
    ask(0, blocks.indices)
  }

  /** One piece, of those blocks that it touches. */
  private def ask(from: Long, touched: Range): Unit =
    try {
      val before = begun.lift(touched.start).fold(0L)(_.start)
      val request =
        FetchRequest(
          blocks.slice(touched.start, touched.end),
          from - before,
          maxBytes(touched.size)
        )
      val buffer = connection.buffer(request.bytes)
      request.write(buffer.data())
      connection.request(buffer, limits.timeoutNs).whenComplete { (message, trouble) =>
        if (trouble == null) land(message, from, touched) else ended(fail(trouble))
      }
      ()
    } catch {
      case trouble: Throwable => ended(fail(trouble))
    }

  private def maxBytes(blocks: Int): Int = limits.chunkBytes - FetchResponse.headBytes(blocks)

  /** What an answer leads to; then the next is asked for. */
  private def ended(work: => Unit): Unit = {
    attempt(work)
    goOn()
  }

  private def attempt(work: => Unit): Unit =
    try work
    catch { case trouble: Throwable => fail(trouble) }

  /**
   * The message is handed over: closed here, or kept until the last of its pieces is freed. What is kept has arrived
   * on the thread that brings the answer; only to copy the rest needs a worker.
   */
  private def land(message: Message, from: Long, touched: Range): Unit = {
    val data = message.data()
    val known =
      try {
        val parts = checked(data, from, touched)
        Right(parts -> retained.keep(message, parts.size))
      } catch {
        case trouble: Throwable =>
          message.close()
          Left(trouble)
      }
    known match {
      case Left(trouble) => ended(fail(trouble))
      case Right((parts, Some(free))) =>
        ended(takeAll(parts, free)(block => Chunk(block.part(data, from), free), from))
      case Right((parts, None)) =>
        handOver(ended {
          try takeAll(parts, () => ())(block => copied(block.part(data, from)), from)
          finally message.close()
        })
    }
  }

  /** Once: where the workers take nothing, by whoever brings the answer; a pool that throws may keep it. */
  private def handOver(work: => Unit): Unit = {
    val begun = new AtomicBoolean(false)
    val once: Runnable = () => if (begun.compareAndSet(false, true)) work
    try workers.execute(once)
    catch { case _: Throwable => once.run() }
  }

  /** Those that are not taken any more are freed; what was taken is its block's, or its reader's already. */
  private def takeAll(parts: Seq[Begun], free: () => Unit)(
      chunk: Begun => Chunk,
      from: Long
  ): Unit = {
    var left = parts
    try
      while (left.nonEmpty) {
        left.head.take(chunk(left.head), from)
        left = left.tail
      }
    finally left.foreach(_ => free())
  }

  private def checked(data: ByteBuffer, from: Long, touched: Range): Seq[Begun] = {
    val lengths = FetchResponse.lengths(data, touched.size)
    if (from == 0) begin(lengths)
    val known = touched.map(i => begun(i).bytes.toLong)
    require(
      lengths.sameElements(known),
      "an answer with different lengths than before: a block has changed"
    )
    val expected = math.min(maxBytes(touched.size).toLong, begun(touched.last).end - from)
    require(
      data.remaining == expected,
      s"an answer of ${data.remaining} bytes in place of $expected"
    )
    touched.map(begun).filter(_.isIn(from, data.remaining))
  }

  private def copied(part: ByteBuffer): Chunk = {
    val chunk = sink.room(part.remaining)
    chunk.bytes.duplicate().put(part)
    chunk
  }

  private def begin(lengths: Array[Long]): Unit = {
    val starts = lengths.scanLeft(0L)(_ + _)
    lengths.zip(blocks).find(_._1 > Int.MaxValue).foreach { case (length, block) =>
      throw new IllegalArgumentException(
        s"$block has $length bytes: more than memory for one block can hold"
      )
    }
    synchronized {
      for (i <- blocks.indices)
        begun = begun :+ new Begun(blocks(i), starts(i), lengths(i).toInt)
      requestedBytes = math.min(total, maxBytes(blocks.size).toLong)
    }
    begun.filter(_.bytes == 0).foreach(_.arrive())
  }

  private def total: Long = begun.lastOption.fold(0L)(_.end)

  private def fail(why: Throwable): Unit = synchronized {
    if (failure.isEmpty) failure = Some(ExecutorConnections.cause(why))
  }

  /** After an answer: asks for what may be asked for now; the last one ends what has failed. */
  private def goOn(): Unit = {
    val (next, over) = synchronized {
      underWay -= 1
      val chunks = if (failure.isEmpty) nextChunks() else Vector.empty
      (chunks, failure.filter(_ => underWay == 0))
    }
    over.foreach(end)
    next.foreach { case (from, touched) => ask(from, touched) }
  }

  private def nextChunks(): Vector[(Long, Range)] = {
    var chunks = Vector.empty[(Long, Range)]
    while (underWay < limits.parallel && requestedBytes < total) {
      val touched = touchedFrom(requestedBytes)
      chunks :+= requestedBytes -> touched
      requestedBytes = math.min(begun(touched.last).end, requestedBytes + maxBytes(touched.size))
      underWay += 1
    }
    chunks
  }

  /** Blocks with bytes from here on, as many as a piece may reach. */
  private def touchedFrom(from: Long): Range = {
    val first = begun.indexWhere(_.end > from)
    val end = begun.indexWhere(_.start >= from + maxBytes(blocks.size), first + 1)
    first until (if (end < 0) begun.size else end)
  }

  private def end(why: Throwable): Unit = {
    val missing = blocks.indices.filter(i => begun.lift(i).forall(!_.hasArrived))
    try missing.flatMap(begun.lift(_)).foreach(_.drop())
    finally sink.failed(missing.map(blocks), why)
  }

  /** A block whose length is known. */
  final private class Begun(name: String, val start: Long, val bytes: Int) {
    private val chunks = new ConcurrentSkipListMap[Long, Chunk]
    private val missing = new AtomicInteger(bytes)
    @volatile private var handedOver = false
    @volatile private var announced = false

    def end: Long = start + bytes
    def hasArrived: Boolean = announced

    /** Whether some of it is among so many bytes, whose first is number `from` of all blocks. */
    def isIn(from: Long, count: Int): Boolean = start < from + count && end > from && bytes > 0

    /** What belongs to it of `data`, whose first byte is number `from` of all blocks. */
    def part(data: ByteBuffer, from: Long): ByteBuffer = {
      val first = math.max(start, from)
      val count = math.min(end, from + data.remaining) - first
      data.slice(data.position() + (first - from).toInt, count.toInt)
    }

    def take(chunk: Chunk, from: Long): Unit = {
      val bytes = chunk.bytes.remaining
      chunks.put(from, chunk)
      if (missing.addAndGet(-bytes) == 0) arrive()
    }

    /** Where the landing throws, the block has failed, whose pieces are the landing's; the others of an answer go on. */
    def arrive(): Unit = attempt {
      val all = chunks.values.asScala.toVector
      traffic.fetched(connection.transport, bytes.toLong)
      handedOver = true
      sink.arrived(name, all)
      announced = true
    }

    def drop(): Unit = if (!handedOver) chunks.values.forEach(_.free())
  }
}

private[shuffle] object BlockFetch {

  /**
   * @param chunkBytes of one answer
   * @param parallel answers of one fetch under way
   * @param timeoutNs for each
   */
  final case class Limits(chunkBytes: Int, parallel: Int, timeoutNs: Long)
}
