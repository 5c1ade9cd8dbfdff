package io.hearth.core

import java.io.IOException
import java.nio.file.{AccessDeniedException, FileSystemException}

/** Why reading or writing failed, in words: the messages of some exceptions are a file's name alone. */
object IoReason {
  def apply(e: IOException): String = e match {
    case denied: AccessDeniedException => s"permission denied for ${denied.getFile}"
    case named: FileSystemException if Option(named.getReason).isEmpty =>
      val kind = named.getClass.getSimpleName.stripSuffix("Exception")
      s"$kind ${named.getFile}"
    case other => Option(other.getMessage).getOrElse(other.toString)
  }
}
