package io.hearth.driver

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicReference

/**
 * Names to a [[Reaper]] what is to go should this driver be killed. That may fail, with one warning: the
 * next application then clears up.
 */
final class ReaperClient(start: () => Reaper, bestEffort: BestEffort) extends AutoCloseable {
  private val reaper = new AtomicReference[Option[Reaper]](None)

  def open(): Unit = reaper.set(bestEffort.attempt(start()))

  def watch(pid: Long, startTicks: Long): Unit = say(_.watch(pid, startTicks))
  def watchClient(pid: Long, startTicks: Long, container: String): Unit =
    say(_.watchClient(pid, startTicks, container))
  def removeLater(directory: Path): Unit = say(_.removeLater(directory))
  def markAbandoned(run: Path): Unit = say(_.markAbandoned(run))

  /** The driver has cleared up itself. */
  override def close(): Unit = say(_.close())

  private def say(what: Reaper => Unit): Unit =
    reaper.get.foreach(running => bestEffort.attempt(what(running)))
}
