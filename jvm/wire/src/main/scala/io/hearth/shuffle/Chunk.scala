package io.hearth.shuffle

import java.nio.ByteBuffer
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import io.hearth.transport.Message

/**
 * A part of a block in memory.
 *
 * @param free is called once, when nobody reads it any more
 */
final case class Chunk(bytes: ByteBuffer, free: () => Unit)

/**
 * Answers whose memory stays the blocks' until they have been read, so that nothing is copied. There is a limit, as the
 * rest of a block needs memory of the wire too: beyond it pieces are copied.
 */
final private[shuffle] class RetainedBudget(limitBytes: Long) {
  private val bytes = new AtomicLong

  /** What the readers of its parts, so many, call in the end; absent where it is too much. */
  def keep(answer: Message, readers: Int): Option[() => Unit] = {
    val more = answer.memoryBytes.toLong
    val fits =
      readers > 0 && (bytes.addAndGet(more) <= limitBytes || { bytes.addAndGet(-more); false })
    Option.when(fits) {
      answer.keep()
      val left = new AtomicInteger(readers)
      () =>
        if (left.decrementAndGet() == 0) {
          answer.close()
          bytes.addAndGet(-more)
          ()
        }
    }
  }
}
