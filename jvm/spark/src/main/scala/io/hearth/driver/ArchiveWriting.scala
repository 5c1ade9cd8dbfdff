package io.hearth.driver

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicReference

import io.hearth.core.launch.ArchiveUse

/**
 * How executors use the class-data archive. Where there is none one executor alone writes it when it
 * ends; where that one is killed, the next that starts does.
 *
 * @param choose finds the archive, or where it is to be
 * @param sound whether a JVM starts from one that was just written
 */
final class ArchiveWriting(
    choose: () => ArchiveUse,
    sound: Path => Boolean,
    reaper: Reaper,
    bestEffort: BestEffort,
    log: Log
) {
  private val chosen = new AtomicReference[ArchiveUse](ArchiveUse.Without("not looked for yet"))
  private val writer = new AtomicReference[Option[String]](None)

  def open(): Unit = {
    val use = bestEffort.attempt(choose()).getOrElse {
      ArchiveUse.Without("its directory cannot be used")
    }
    chosen.set(use)
    use match {
      case ArchiveUse.Without(reason) => log.info(s"No class-data archive for executors: $reason")
      case _ =>
    }
  }

  /** JVM options of an executor that is about to start. */
  def optionsFor(executorId: String): Vector[String] = chosen.get match {
    case write: ArchiveUse.Write =>
      if (!writer.compareAndSet(None, Some(executorId))) Vector.empty
      else {
        reaper.removeLater(write.partial)
        write.options
      }
    case other => other.options
  }

  /** Whether an executor is to write the archive when it ends, which takes some seconds more. */
  def pending: Boolean = writer.get.nonEmpty

  /** An executor has ended; what it has written whole is used from now on. */
  def exited(executorId: String, code: Int): Unit = chosen.get match {
    case write: ArchiveUse.Write if writer.get.contains(executorId) =>
      if (bestEffort.attempt(write.publish(code, checked)).contains(true)) {
        chosen.set(ArchiveUse.Ready(write.archive))
        log.info(
          s"Wrote the class-data archive ${write.archive}: executors start from it from now on"
        )
      }
      writer.set(None)
    case _ =>
  }

  private def checked(archive: Path): Boolean = {
    val passed = sound(archive)
    if (!passed)
      log.warn(
        "The JVM rejects the class-data archive it has just written: hearth makes another one later"
      )
    passed
  }

  /** An executor could not be started. */
  def notStarted(executorId: String): Unit = {
    writer.updateAndGet(_.filterNot(_ == executorId))
    ()
  }
}
