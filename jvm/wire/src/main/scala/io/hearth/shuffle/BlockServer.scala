package io.hearth.shuffle

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.transport.{FilePart, Request, Service, WireException}

/** Where a block lies. */
final case class Segment(file: Path, offset: Long, length: Long)

/**
 * Answers requests for blocks from their files: a transport that can sends long parts of them as they are, the rest is
 * read straight into the wire's memory.
 *
 * Where that is used up, a request waits, its blocks looked up: it is tried again until the asker gives it up.
 *
 * @param find throws where there is no such block; called by several threads
 * @param workers do what the agent's thread should not: it waits for a disk only where it sends a file
 */
final private[shuffle] class BlockServer(
    find: String => Segment,
    workers: ScheduledExecutorService,
    traffic: Traffic
) extends Service {

  import BlockServer.Wanted

  override def onRequest(request: Request): Unit = {
    lazy val wanted = look(request)
    workers.execute(() => serve(request, () => wanted))
  }

  private def look(request: Request): Wanted = {
    val fetch = FetchRequest.read(request.data())
    Wanted(fetch.blocks.map(find), fetch.from, fetch.maxBytes)
  }

  private def serve(request: Request, wanted: () => Wanted): Unit =
    if (request.cancelled()) request.fail("it was cancelled")
    else
      try answer(request, wanted())
      catch {
        case e: WireException if e.kind == WireException.Kind.BUSY => serveLater(request, wanted)
        // Also an Error: whoever requested it waits for an answer, and these threads' pool would keep it to itself.
        case trouble: Throwable => request.fail(ExecutorConnections.line(trouble))
      }

  private def serveLater(request: Request, wanted: () => Wanted): Unit = {
    val again: Runnable = () => serve(request, wanted)
    try workers.schedule(again, BlockServer.AgainMs, TimeUnit.MILLISECONDS)
    catch { case trouble: Throwable => request.fail(ExecutorConnections.line(trouble)) }
    ()
  }

  private def answer(request: Request, wanted: Wanted): Unit = {
    import wanted.segments
    val rest = math.max(0, segments.map(_.length).sum - wanted.from)
    val count = math.min(rest, wanted.maxBytes.toLong).toInt
    val asFiles =
      request.connection().sendsFiles && count >= segments.size * BlockServer.MinFileBytes
    val head = FetchResponse.headBytes(segments.size)
    val buffer = request.buffer(if (asFiles) head else head + count)
    val files =
      try {
        val to = buffer.data()
        segments.foreach(segment => to.putLong(segment.length))
        val touched = BlockServer.touched(segments, wanted.from, count)
        if (asFiles) BlockServer.opened(touched)
        else {
          touched.foreach(BlockServer.read(to, _))
          Nil
        }
      } catch {
        case trouble: Throwable =>
          buffer.close()
          throw trouble
      }
    traffic.servedBytes.add(count.toLong)
    request.respond(buffer, files.asJava)
  }
}

private[shuffle] object BlockServer {

  /** Bytes of blocks as if these lay one after the other: at most so many, from one on. */
  final private case class Wanted(segments: IndexedSeq[Segment], from: Long, maxBytes: Int)

  private val AgainMs = 5L

  /** Of a block on average, for a file to be sent as it is: shorter ones cost more calls than copies. */
  private val MinFileBytes = 64L << 10

  /** Of these bytes, as if the segments lay one after the other, the segments that hold them. */
  private def touched(
      segments: IndexedSeq[Segment],
      from: Long,
      count: Int
  ): IndexedSeq[Segment] = {
    val starts = segments.scanLeft(-from)(_ + _.length)
    segments.zip(starts).flatMap { case (segment, start) =>
      val first = math.max(0, -start)
      val length = math.min(segment.length, count - start) - first
      Option.when(length > 0)(Segment(segment.file, segment.offset + first, length))
    }
  }

  private def opened(segments: IndexedSeq[Segment]): Seq[FilePart] = {
    val files = IndexedSeq.newBuilder[FilePart]
    try
      for (segment <- segments) {
        val file = FileChannel.open(segment.file, StandardOpenOption.READ)
        files += new FilePart(file, segment.offset, segment.length.toInt)
        if (file.size < segment.offset + segment.length) throw tooShort(segment)
      }
    catch {
      case trouble: Throwable =>
        files.result().foreach(_.close())
        throw trouble
    }
    files.result()
  }

  private def read(to: ByteBuffer, segment: Segment): Unit = {
    val part = to.slice(to.position, segment.length.toInt)
    Using.resource(FileChannel.open(segment.file, StandardOpenOption.READ)) { channel =>
      while (part.hasRemaining)
        if (channel.read(part, segment.offset + part.position) < 0) throw tooShort(segment)
    }
    to.position(to.position + part.capacity)
  }

  private def tooShort(segment: Segment): IOException =
    new EOFException(
      s"'${segment.file}' ends before byte ${segment.offset + segment.length}, which its index names"
    )
}
