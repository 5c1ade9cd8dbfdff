package io.hearth.shuffle

import java.nio.ByteBuffer
import java.util.concurrent.{CompletionException, Executor}

import scala.util.Using
import scala.util.control.NonFatal

import io.hearth.transport.{Connection, Message, WireException}

/** Where fetched blocks go. Called by several threads; each block arrives once, or is among those that failed. */
trait Landing {

  /** Memory for a block that begins to come. */
  def room(block: String, bytes: Int): Landing.Room

  /** What has not arrived, and will not. */
  def failed(blocks: IndexedSeq[String], why: Throwable): Unit
}

object Landing {

  /** Of one block: in the end exactly one of the two is called. */
  trait Room {

    /** All of it, for several threads that write different parts. */
    def memory: ByteBuffer
    def arrived(): Unit
    def drop(): Unit
  }
}

/**
 * Fetches blocks from one peer: at first as much of them as one message may have, which says how long they are, then
 * the rest, several messages at a time. When anything goes wrong, nothing more is asked for, and what has not arrived
 * has failed.
 *
 * @param workers copy what comes out of the wire's memory, so that this is free for what comes next
 */
final private[shuffle] class BlockFetch(
    connection: Connection,
    blocks: IndexedSeq[String],
    landing: Landing,
    limits: BlockFetch.Limits,
    workers: Executor,
    traffic: Traffic
) {
  import BlockFetch._

  require(
    blocks.nonEmpty && blocks.size <= BlockQuestion.MostBlocks,
    s"${blocks.size} blocks at once"
  )

  private var begun = IndexedSeq.empty[Begun]
  private var askedBytes = 0L
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
      val question =
        BlockQuestion(blocks.slice(touched.start, touched.end), from - before, most(touched.size))
      val buffer = connection.buffer(question.bytes)
      question.write(buffer.data())
      connection
        .request(buffer, limits.timeoutNs)
        .whenCompleteAsync(
          (message, trouble) => answered(from, touched, Option(message).toRight(trouble)),
          workers
        )
    } catch {
      case trouble: WireException => answered(from, touched, Left(trouble))
    }

  private def most(blocks: Int): Int = limits.pieceBytes - BlockAnswer.headBytes(blocks)

  private def answered(from: Long, touched: Range, outcome: Either[Throwable, Message]): Unit = {
    try
      outcome match {
        case Left(trouble) => fail(cause(trouble))
        case Right(message) => Using.resource(message)(whole => land(whole.data(), from, touched))
      }
    catch {
      case trouble: OutOfMemoryError => fail(trouble)
      case NonFatal(trouble) => fail(trouble)
    }
    goOn()
  }

  private def land(data: ByteBuffer, from: Long, touched: Range): Unit = {
    val lengths = BlockAnswer.lengths(data, touched.size)
    if (from == 0) begin(lengths)
    val known = touched.map(i => begun(i).bytes.toLong)
    require(
      lengths.sameElements(known),
      "an answer with other lengths than before: a block has changed"
    )
    val expected = math.min(most(touched.size).toLong, begun(touched.last).end - from)
    require(
      data.remaining == expected,
      s"an answer of ${data.remaining} bytes in place of $expected"
    )
    touched.foreach(i => begun(i).take(data, from))
  }

  private def begin(lengths: Array[Long]): Unit = {
    val starts = lengths.scanLeft(0L)(_ + _)
    lengths.zip(blocks).find(_._1 > Int.MaxValue).foreach { case (length, block) =>
      throw new IllegalArgumentException(
        s"$block has $length bytes: longer than memory for one block can be"
      )
    }
    synchronized {
      for (i <- blocks.indices)
        begun =
          begun :+ new Begun(starts(i), lengths(i).toInt, landing.room(blocks(i), lengths(i).toInt))
      askedBytes = math.min(total, most(blocks.size).toLong)
    }
    begun.filter(_.bytes == 0).foreach(_.arrive())
  }

  private def total: Long = begun.lastOption.fold(0L)(_.end)

  private def fail(why: Throwable): Unit = synchronized {
    if (failure.isEmpty) failure = Some(why)
  }

  /** After an answer: asks for what may be asked for now; the last one ends what has failed. */
  private def goOn(): Unit = {
    val (next, over) = synchronized {
      underWay -= 1
      val pieces = if (failure.isEmpty) nextPieces() else Vector.empty
      (pieces, failure.filter(_ => underWay == 0))
    }
    over.foreach(end)
    next.foreach { case (from, touched) => ask(from, touched) }
  }

  private def nextPieces(): Vector[(Long, Range)] = {
    var pieces = Vector.empty[(Long, Range)]
    while (underWay < limits.parallel && askedBytes < total) {
      val touched = touchedFrom(askedBytes)
      pieces :+= askedBytes -> touched
      askedBytes = math.min(begun(touched.last).end, askedBytes + most(touched.size))
      underWay += 1
    }
    pieces
  }

  /** Blocks with bytes from here on, as many as a piece may reach. */
  private def touchedFrom(from: Long): Range = {
    val first = begun.indexWhere(_.end > from)
    val end = begun.indexWhere(_.start >= from + most(blocks.size), first + 1)
    first until (if (end < 0) begun.size else end)
  }

  private def end(why: Throwable): Unit = {
    val missing = blocks.indices.filter(i => begun.lift(i).forall(!_.hasArrived))
    missing.flatMap(begun.lift(_)).foreach(_.room.drop())
    landing.failed(missing.map(blocks), why)
  }

  /** A block whose length is known. */
  final private class Begun(val start: Long, val bytes: Int, val room: Landing.Room) {
    private var missing = bytes
    @volatile private var announced = false

    def end: Long = start + bytes
    def hasArrived: Boolean = announced

    /** The part of `data`, whose first byte is number `from` of all blocks, that belongs to this one. */
    def take(data: ByteBuffer, from: Long): Unit = {
      val first = math.max(start, from)
      val count = (math.min(end, from + data.remaining) - first).toInt
      if (count > 0) {
        room.memory.put((first - start).toInt, data, data.position() + (first - from).toInt, count)
        if (synchronized { missing -= count; missing == 0 }) arrive()
      }
    }

    def arrive(): Unit = {
      announced = true
      traffic.fetched(connection.carriedBy, bytes.toLong)
      room.arrived()
    }
  }
}

private[shuffle] object BlockFetch {

  /**
   * @param pieceBytes of one answer
   * @param parallel answers of one fetch under way
   * @param timeoutNs for each
   */
  final case class Limits(pieceBytes: Int, parallel: Int, timeoutNs: Long)

  private def cause(trouble: Throwable): Throwable = trouble match {
    case wrapped: CompletionException if wrapped.getCause != null => wrapped.getCause
    case other => other
  }
}
