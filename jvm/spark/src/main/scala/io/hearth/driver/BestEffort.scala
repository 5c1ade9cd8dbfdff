package io.hearth.driver

import java.io.{IOException, UncheckedIOException}
import java.nio.file.{DirectoryIteratorException, InvalidPathException}
import java.util.concurrent.atomic.AtomicBoolean

import io.hearth.core.IoReason

/**
 * What hearth keeps for itself and the application does not need: where it fails there is one warning,
 * what can be kept is kept, and the application goes on.
 *
 * @param failing the beginning of the warning, which the reason ends
 */
final class BestEffort(failing: String, warn: String => Unit) {
  private val warned = new AtomicBoolean(false)

  /** @return what `work` gave; nothing where the disk, or whoever was spoken to, did not let it */
  def attempt[A](work: => A): Option[A] =
    BestEffort.tried(work).fold(why => { failed(why); None }, Some(_))

  /** Says why, where this is the first failure. */
  def failed(why: String): Unit = if (warned.compareAndSet(false, true)) warn(s"$failing: $why")
}

object BestEffort {

  /** @return what `work` gave, or why the disk, or whoever was spoken to, did not let it */
  def tried[A](work: => A): Either[String, A] =
    try Right(work)
    catch {
      case e: IOException => Left(IoReason(e))
      case e: UncheckedIOException => Left(IoReason(e.getCause))
      case e: DirectoryIteratorException => Left(IoReason(e.getCause))
      // A name that the locale of this process cannot write, as one with an umlaut under LC_ALL=C.
      case e: InvalidPathException => Left(e.getMessage)
    }
}
