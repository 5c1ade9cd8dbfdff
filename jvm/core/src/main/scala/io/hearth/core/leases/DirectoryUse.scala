package io.hearth.core.leases

import java.io.IOException
import java.nio.file.Path

/** That a process uses a directory alone, by flock(2): over when it is closed, or the process ends, however that is. */
object DirectoryUse {

  /**
   * Where no lock can be taken (no native code, a file system without locks) nobody is kept out.
   *
   * @param directory of this user's
   * @return what ends the use, or who has it already
   */
  def take(directory: Path): Either[String, AutoCloseable] =
    try {
      val open = LinuxLocks.directory(directory)
      if (open.flock()) Right(open)
      else {
        open.close()
        Left(FileHolder.of(directory).fold("a process that cannot be seen here")(_.shown))
      }
    } catch { case _: IOException => Right(() => ()) }
}
