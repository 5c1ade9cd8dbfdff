package io.hearth.driver

import java.util.concurrent.atomic.AtomicReference

/**
 * Work of a thread for whose outcome nobody waits: an executor service keeps what its work throws to itself,
 * and never runs a periodic task again that has thrown. Whatever is thrown, an `Error` too, is logged, and the
 * next work runs as usual.
 *
 * @param failing the sentence for the log; the same failure again and again is logged once
 */
final class Unattended(failing: String, log: Log) {
  private val last = new AtomicReference("")

  def apply(work: => Unit): Unit =
    try work
    catch {
      case _: InterruptedException => Thread.currentThread.interrupt()
      case e: Throwable => if (last.getAndSet(e.toString) != e.toString) log.fault(failing, e)
    }
}
