package io.hearth.spark

import java.io.{IOException, UncheckedIOException}
import java.nio.file.{
  AccessDeniedException,
  DirectoryIteratorException,
  FileSystemException,
  InvalidPathException
}
import java.util.concurrent.atomic.AtomicBoolean

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
    try Some(work)
    catch {
      case e: IOException => failed(e)
      case e: UncheckedIOException => failed(e.getCause)
      case e: DirectoryIteratorException => failed(e.getCause)
      // A name that the locale of this process cannot write, as one with an umlaut under LC_ALL=C.
      case e: InvalidPathException => failed(new IOException(e.getMessage, e))
    }

  private def failed(e: IOException): None.type = {
    if (warned.compareAndSet(false, true)) warn(s"$failing: ${BestEffort.reason(e)}")
    None
  }
}

object BestEffort {

  /** In words: the messages of some exceptions are a file's name alone. */
  def reason(e: IOException): String = e match {
    case denied: AccessDeniedException => s"permission denied for ${denied.getFile}"
    case named: FileSystemException if Option(named.getReason).isEmpty =>
      val kind = named.getClass.getSimpleName.stripSuffix("Exception")
      s"$kind ${named.getFile}"
    case other => Option(other.getMessage).getOrElse(other.toString)
  }
}
