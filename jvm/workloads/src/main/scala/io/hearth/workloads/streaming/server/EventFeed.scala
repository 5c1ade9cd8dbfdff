package io.hearth.workloads.streaming.server

import java.io.{IOException, OutputStream}
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, SocketChannel}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

/**
 * How many events, and when: event `i` is due `i / rate` seconds after the start.
 *
 * @param buffered the most events that may wait for the socket; any due beyond that are unsent
 * @param drainMs how long the last of them may wait after the last event was due
 */
final case class FeedPlan(events: Long, rate: Long, buffered: Long, drainMs: Long) {

  /** How many events are due `elapsedNs` nanoseconds after the start. */
  def due(elapsedNs: Long): Long =
    math.min(events.toDouble, elapsedNs / 1e9 * rate + 1).toLong

  def dueNs(event: Long): Long = (event * 1e9 / rate).toLong
}

object FeedPlan {

  /** A second's worth of events may wait. */
  def of(events: Long, rate: Long): FeedPlan =
    FeedPlan(events, rate, buffered = math.max(rate, 100L), drainMs = 10000)
}

/**
 * Where a feed stands.
 *
 * @param sent events handed to the socket whole
 * @param unsent events that the socket did not take in time and that were dropped
 * @param done all events are either sent or unsent
 * @param lateMsMax the longest delay of an event between being due and handed to the socket
 */
final case class FeedStatus(
    sent: Long = 0,
    unsent: Long = 0,
    done: Boolean = false,
    lateMsMax: Double = 0,
    reader: String = FeedStatus.Awaited
)

object FeedStatus {
  val Awaited = "awaited"
  val Connected = "connected"
  val Gone = "gone"
}

/**
 * The reader closed the connection. Unlike a log that cannot be written, this is reported, not an
 * error.
 */
final private class ReaderGone(cause: IOException) extends Exception(cause)

/**
 * Sends events at their times to one reader. One thread owns the socket, which never blocks it: a
 * slow reader delays no event beyond the buffer, and shows in `unsent`.
 *
 * @param log gets every event actually sent, in order; flushed before the feed reports that it is
 * done
 * @param publish gets the status after every slot
 */
final class EventFeed(
    plan: FeedPlan,
    line: Long => String,
    channel: SocketChannel,
    log: Option[OutputStream],
    publish: FeedStatus => Unit
) {
  private val slotMs = 10L
  private val startNs = System.nanoTime()
  private val pending = mutable.Queue.empty[Chunk]
  private var waiting = 0L
  private var offered = 0L
  private var status = FeedStatus(reader = FeedStatus.Connected)

  /** The events of one slot being sent. */
  final private class Chunk(val events: Long, val dueNs: Long, text: String) {
    val bytes: ByteBuffer = ByteBuffer.wrap(text.getBytes(UTF_8))

    /** Length of the whole lines among the bytes written so far. */
    def wholeLines: Int = bytes.array.lastIndexOf('\n'.toByte, bytes.position() - 1) + 1
  }

  /** Returns when all events are sent or given up. */
  def run(): Unit = {
    channel.configureBlocking(false)
    val selector = Selector.open()
    try {
      val key = channel.register(selector, 0)
      while (!ended) {
        step()
        key.interestOps(if (pending.isEmpty) 0 else SelectionKey.OP_WRITE)
        selector.select(untilNextSlotMs)
        selector.selectedKeys.clear()
      }
    } catch {
      case _: ReaderGone => status = status.copy(reader = FeedStatus.Gone)
    } finally {
      selector.close()
      giveUpRest()
    }
  }

  private def step(): Unit = {
    offer(plan.due(elapsedNs))
    write()
    publish(status)
  }

  private def elapsedNs: Long = System.nanoTime() - startNs

  private def untilNextSlotMs: Long = slotMs - elapsedNs / 1000000 % slotMs

  private def ended: Boolean = offered == plan.events &&
    (pending.isEmpty || elapsedNs > plan.dueNs(plan.events) + plan.drainMs * 1000000)

  /** Moves what has come due since the last slot into the buffer, as far as there is room. */
  private def offer(due: Long): Unit = {
    val taken = math.min(due - offered, plan.buffered - waiting)
    if (taken > 0) {
      val text = new StringBuilder
      (offered until offered + taken).foreach(i => text.append(line(i)).append('\n'))
      pending += new Chunk(taken, plan.dueNs(offered), text.toString)
      waiting += taken
    }
    status = status.copy(unsent = status.unsent + (due - offered - taken))
    offered = due
  }

  private def write(): Unit = {
    var taking = true
    while (taking && pending.nonEmpty) {
      val chunk = pending.head
      handOver(chunk.bytes)
      taking = !chunk.bytes.hasRemaining
      if (taking) sent(pending.dequeue(), chunk.events, chunk.bytes.limit())
    }
  }

  private def handOver(bytes: ByteBuffer): Unit =
    try {
      channel.write(bytes)
      ()
    } catch { case e: IOException => throw new ReaderGone(e) }

  private def sent(chunk: Chunk, events: Long, length: Int): Unit = {
    log.foreach(_.write(chunk.bytes.array, 0, length))
    waiting -= chunk.events
    val lateMs = (elapsedNs - chunk.dueNs) / 1e6
    status = status.copy(
      sent = status.sent + events,
      unsent = status.unsent + (chunk.events - events),
      lateMsMax = math.max(status.lateMsMax, lateMs)
    )
  }

  private def giveUpRest(): Unit = {
    pending.headOption.foreach { chunk =>
      pending.dequeue()
      val length = chunk.wholeLines
      sent(chunk, chunk.bytes.array.take(length).count(_ == '\n').toLong, length)
    }
    val rest = pending.map(_.events).sum + (plan.events - offered)
    log.foreach(_.flush())
    status = status.copy(unsent = status.unsent + rest, done = true)
    publish(status)
  }
}
