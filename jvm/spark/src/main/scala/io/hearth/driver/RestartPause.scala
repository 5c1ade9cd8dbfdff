package io.hearth.driver

/**
 * How long a place stays free before a process is started in it again: the longer, the more of them have not
 * lived for a minute.
 *
 * @param atOnce how many short lives in a row are followed at once
 * @param seconds of the next start; 0 where it comes at once
 * @param short how many short lives there were in a row
 */
final case class RestartPause(atOnce: Int, seconds: Long = 0, short: Int = 0) {
  import RestartPause._

  def afterLife(ranMs: Long): RestartPause =
    if (ranMs >= SoundMs) RestartPause(atOnce)
    else if (short < atOnce) copy(seconds = 0, short = short + 1)
    else afterFailedStart

  /** What refused the start (a full disk, a container engine that restarts) may pass. */
  def afterFailedStart: RestartPause =
    copy(seconds = math.min(math.max(1L, seconds * 2), MaxSeconds), short = short + 1)
}

object RestartPause {
  private val SoundMs = 60000L
  private val MaxSeconds = 60L
}
