package io.hearth.core.topology

import java.io.IOException
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * The files of sysfs and procfs under a root: `/`, or an unpacked capture. Paths are relative to it.
 *
 * A file that is absent, or that the kernel refuses to read (as it does for what does not apply to a
 * device), is `None`. A link that leads out of the root is treated as absent, so a capture can never
 * show files of the machine that reads it.
 */
final class SysTree(root: Path) {
  private val real: Path = root.toRealPath()

  /** Whether this is the running machine itself, not a capture. */
  val isLive: Boolean = Option(real.getParent).isEmpty

  def text(path: String): Option[String] =
    inside(path).filter(Files.isRegularFile(_)).flatMap { file =>
      try
        Using.resource(Files.newInputStream(file)) { in =>
          Some(new String(in.readNBytes(SysTree.LargestFile), ISO_8859_1))
        }
      catch { case _: IOException => None }
    }

  /** The file's text without surrounding blanks; an empty file is `None`. */
  def line(path: String): Option[String] = text(path).map(_.trim).filter(_.nonEmpty)

  def int(path: String): Option[Int] = line(path).flatMap(_.toIntOption)

  /** A set in the kernel's list format; an empty file is the empty set, a malformed one `None`. */
  def list(path: String): Option[IdSet] = text(path).flatMap(IdSet.parse(_).toOption)

  /** A set in the kernel's mask format. */
  def mask(path: String): Option[IdSet] = text(path).flatMap(IdSet.parseMask(_).toOption)

  def exists(path: String): Boolean = inside(path).exists(Files.exists(_))

  /** The names in a directory, sorted. */
  def names(directory: String): Vector[String] =
    inside(directory).filter(Files.isDirectory(_)).fold(Vector.empty[String]) { dir =>
      try
        Using.resource(Files.newDirectoryStream(dir)) { entries =>
          entries.iterator.asScala.map(_.getFileName.toString).toVector.sorted
        }
      catch { case _: IOException => Vector.empty }
    }

  /** The ids of the entries `prefixN` of a directory. */
  def ids(directory: String, prefix: String): IdSet = IdSet.from(
    names(directory)
      .filter(_.startsWith(prefix))
      .flatMap(_.drop(prefix.length).toIntOption)
      .filter(id => id >= 0 && id <= IdSet.MaxId)
  )

  /** Where a path leads when its links are followed, relative to the root. */
  def resolved(path: String): Option[String] = inside(path).map(real.relativize(_).toString)

  private def inside(path: String): Option[Path] = {
    val file = real.resolve(path.dropWhile(_ == '/'))
    if (isLive) Some(file.normalize)
    else
      try Some(file.toRealPath()).filter(_.startsWith(real))
      catch { case _: IOException => None }
  }
}

object SysTree {

  /** Bytes read of one file at most: `/proc/cpuinfo` of 8192 CPUs is 12 MB. */
  private val LargestFile = 32 * 1024 * 1024
}
