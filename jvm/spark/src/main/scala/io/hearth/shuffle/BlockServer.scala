package io.hearth.shuffle

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import scala.annotation.tailrec
import scala.util.Using
import scala.util.control.NonFatal

import io.hearth.transport.{Request, Service, WireException}

/** Where a block lies. */
final case class Segment(file: Path, offset: Long, length: Long)

/**
 * Answers questions for blocks from their files, read straight into the wire's memory.
 *
 * Where that is used up, a question waits: it is tried again until the asker gives it up.
 *
 * @param find throws where there is no such block; called by several threads
 * @param workers do what the carrier's thread must not: it waits for no disk
 */
final private[shuffle] class BlockServer(
    find: String => Segment,
    workers: ScheduledExecutorService,
    traffic: Traffic
) extends Service {

  override def onRequest(request: Request): Unit = workers.execute(() => serve(request))

  private def serve(request: Request): Unit =
    if (request.cancelled()) request.fail("it was given up")
    else
      try answer(request)
      catch {
        case e: WireException if e.kind == WireException.Kind.BUSY =>
          workers.schedule(
            (() => serve(request)): Runnable,
            BlockServer.AgainMs,
            TimeUnit.MILLISECONDS
          )
        case NonFatal(trouble) => request.fail(BlockServer.line(trouble))
      }

  private def answer(request: Request): Unit = {
    val question = BlockQuestion.read(request.data())
    val segments = question.blocks.map(find)
    val rest = math.max(0, segments.map(_.length).sum - question.from)
    val count = math.min(rest, question.most.toLong).toInt
    val buffer = request.connection().buffer(BlockAnswer.headBytes(segments.size) + count)
    try {
      val to = buffer.data()
      segments.foreach(segment => to.putLong(segment.length))
      BlockServer.fill(to, segments, question.from)
      traffic.served(count.toLong)
    } catch {
      case NonFatal(trouble) =>
        buffer.close()
        throw trouble
    }
    request.respond(buffer)
  }
}

private[shuffle] object BlockServer {
  private val AgainMs = 5L

  private def line(trouble: Throwable): String =
    Option(trouble.getMessage).getOrElse(trouble.toString).linesIterator.nextOption().getOrElse("")

  /** Until `to` is full. */
  @tailrec
  private def fill(to: ByteBuffer, segments: IndexedSeq[Segment], from: Long): Unit =
    if (to.hasRemaining) {
      val segment = segments.head
      if (from < segment.length) read(to, segment, from)
      fill(to, segments.tail, math.max(0, from - segment.length))
    }

  private def read(to: ByteBuffer, segment: Segment, from: Long): Unit = {
    val count = math.min(segment.length - from, to.remaining.toLong).toInt
    val part = to.slice(to.position, count)
    Using.resource(FileChannel.open(segment.file, StandardOpenOption.READ)) { channel =>
      while (part.hasRemaining)
        if (channel.read(part, segment.offset + from + part.position) < 0) throw tooShort(segment)
    }
    to.position(to.position + count)
  }

  private def tooShort(segment: Segment): IOException =
    new EOFException(
      s"'${segment.file}' ends before byte ${segment.offset + segment.length}, which its index names"
    )
}
