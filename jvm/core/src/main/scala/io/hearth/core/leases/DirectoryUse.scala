package io.hearth.core.leases

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Path}

/** That a process uses a directory alone, by flock(2): over when it is closed, or the process ends, however that is. */
object DirectoryUse {

  /**
   * Where no lock can be taken (no native code, a file system without locks) nobody is kept out.
   *
   * @param directory of this user's; one that goes meanwhile is the other's, who removes it
   * @return what ends the use, or who has it already
   */
  def take(directory: Path): Either[String, AutoCloseable] =
    try {
      val open = LinuxLocks.directory(directory)
      if (open.flock() && Files.exists(directory)) Right(open)
      else {
        open.close()
        Left(FileHolder.of(directory).fold("a process that cannot be seen here")(_.shown))
      }
    } catch {
      case _: FileNotFoundException => Left("a process that is just ending")
      case _: IOException => Right(() => ())
    }
}
