package io.hearth.workers

import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.{Files, Path, StandardCopyOption}

import scala.util.Using

/**
 * What a Worker prints, `stdout` and `stderr` in its place's directory, and those before, `stdout.1` the latest.
 *
 * @param limitBytes of one that is being written; a longer one is set aside
 */
final class WorkerLogs(limitBytes: Long) {
  import WorkerLogs._

  /** Set all aside, before another Worker starts. */
  def setAside(directory: Path): Unit =
    files(directory).foreach { log =>
      age(log)
      move(log, aged(log, 1))
    }

  /** Set those aside that have become too long: a copy, as their Worker goes on at the end of the same file. */
  def roll(directory: Path): Unit =
    files(directory).filter(Files.size(_) > limitBytes).foreach { log =>
      age(log)
      val _ = Files.copy(log, aged(log, 1), StandardCopyOption.REPLACE_EXISTING)
      Using.resource(FileChannel.open(log, WRITE))(_.truncate(0))
    }
}

object WorkerLogs {
  val LimitBytes: Long = 64L << 20

  /** As many as Spark's own scripts keep (spark-daemon.sh). */
  private val Kept = 5

  private def files(directory: Path): Vector[Path] =
    Vector("stdout", "stderr").map(directory.resolve).filter(Files.exists(_))

  private def aged(log: Path, n: Int): Path = log.resolveSibling(s"${log.getFileName}.$n")

  private def age(log: Path): Unit =
    (Kept - 1 to 1 by -1)
      .filter(n => Files.exists(aged(log, n)))
      .foreach(n => move(aged(log, n), aged(log, n + 1)))

  private def move(from: Path, to: Path): Unit = {
    val _ = Files.move(from, to, StandardCopyOption.REPLACE_EXISTING)
  }
}
