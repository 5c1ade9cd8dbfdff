package io.hearth.core.testing

import java.nio.file.{Files, Path}

/** Directories that are gone when a test has used them. */
object Temporary {

  def directory[A](use: Path => A): A = {
    val directory = Files.createTempDirectory("hearth-test")
    try use(directory)
    finally {
      // Captures hold directories that their owner cannot write.
      val path = directory.toString
      Child.run(Vector("chmod", "-R", "u+rwx", path))
      Child.run(Vector("rm", "-rf", path))
    }
  }
}
