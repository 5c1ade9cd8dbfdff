package io.hearth.spark

/**
 * How long a place stays free before a process is started in it again: the longer, the more of them have not
 * lived for a minute.
 *
 * @param ms of the next start; 0 where it comes at once
 * @param short how many short lives there were in a row
 */
final case class RestartPause(ms: Long = 0, short: Int = 0) {
  import RestartPause._

  /** The first ten restarts come at once: where nothing else runs, that many losses end an application. */
  def afterLife(ranMs: Long): RestartPause =
    if (ranMs >= SoundMs) RestartPause()
    else if (short < AtOnce) RestartPause(0, short + 1)
    else afterFailedStart

  /** What refused the start (a full disk, a container engine that restarts) may pass. */
  def afterFailedStart: RestartPause =
    RestartPause(math.min(math.max(LeastMs, ms * 2), LongestMs), short + 1)
}

object RestartPause {
  private val SoundMs = 60000L
  private val AtOnce = 10
  private val LeastMs = 1000L
  private val LongestMs = 60000L
}
