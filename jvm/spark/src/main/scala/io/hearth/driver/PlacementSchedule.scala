package io.hearth.driver

/**
 * When the placement of an application's executors is looked at (see [[io.hearth.core.placement.PlacementSample]])
 * and when all of it is read. Times are of `System.nanoTime`.
 *
 * @param intervalNanos between two looks; 0 for none
 * @param lastLook when it was looked at, or read, last
 * @param lastReading when all of it was read last
 * @param readingNanos how long that took, at most as much as one CPU's time
 */
final case class PlacementSchedule(
    intervalNanos: Long,
    lastLook: Long,
    lastReading: Long,
    readingNanos: Long
) {
  import PlacementSchedule._

  def lookDue(now: Long): Boolean = intervalNanos > 0 && now - lastLook >= intervalNanos

  /** @param changed whether a look has just shown other deviations than before */
  def readingDue(now: Long, changed: Boolean): Boolean = {
    val pause =
      if (changed) PauseWhenChanged * readingNanos
      else math.max(LooksToReading * intervalNanos, Pause * readingNanos)
    now - lastReading >= pause
  }

  def looked(now: Long): PlacementSchedule = copy(lastLook = now)

  /** All was read, from `start` to `end`. */
  def read(start: Long, end: Long): PlacementSchedule =
    copy(lastLook = end, lastReading = end, readingNanos = end - start)
}

object PlacementSchedule {

  /** Looks from one reading to the next at least. */
  val LooksToReading: Int = 24

  /** A reading waits for this many times as long as the last took: a thousandth of one CPU at most. */
  val Pause: Int = 1000

  /** The same when something has changed: a hundredth of one CPU at most, should it change again and again. */
  val PauseWhenChanged: Int = 100

  def start(intervalNanos: Long, now: Long): PlacementSchedule =
    PlacementSchedule(intervalNanos, now, now, 0)
}
