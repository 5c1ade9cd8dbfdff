package io.hearth.core.plan

import java.nio.file.{Files, Path}

/** Files of the project that tests read. */
object Project {

  /** The directory that holds `contract/`, above wherever the tests were started. */
  lazy val root: Path =
    Iterator
      .iterate(Path.of("").toAbsolutePath)(_.getParent)
      .takeWhile(_ != null)
      .find(dir => Files.isDirectory(dir.resolve("contract")))
      .getOrElse(throw new IllegalStateException("no directory above holds contract/"))

  def file(name: String): Path = root.resolve(name)
}
