package io.hearth.core.topology

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Captures of machines that tests read. */
object Captures {

  /** Those of the project, in `fixtures/machines`. */
  def own: Vector[Path] = in("fixtures/machines")

  /** Those of hwloc's project, beside a checkout; none elsewhere. */
  def shared: Vector[Path] = in("shared/data/machines")

  /** The file's name without the endings of an archive. */
  def name(capture: Path): String = capture.getFileName.toString.replaceFirst("\\.tar\\..*", "")

  /** Archives in the nearest such directory above wherever the tests were started. */
  private def in(directory: String): Vector[Path] =
    Iterator
      .iterate(Path.of("").toAbsolutePath)(_.getParent)
      .takeWhile(p => Option(p).nonEmpty)
      .map(_.resolve(directory))
      .find(Files.isDirectory(_))
      .fold(Vector.empty[Path])(archives)

  private def archives(directory: Path): Vector[Path] =
    Using.resource(Files.list(directory)) {
      _.iterator.asScala.filter(_.toString.matches(".*\\.tar\\.\\w+")).toVector.sorted
    }
}
