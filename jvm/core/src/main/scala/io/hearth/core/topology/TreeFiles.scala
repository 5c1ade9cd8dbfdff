package io.hearth.core.topology

import java.io.IOException
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * Where the files of a machine are: on this one, in a directory, or in an archive. Paths are relative
 * to the root, separated by `/`; what a link names outside of the root is absent.
 */
private[topology] trait TreeFiles {

  /** Whether this is the running machine itself, not a capture. */
  def isLive: Boolean

  /** The first bytes of a file, `max` at most; `None` where it is absent or cannot be read. */
  def bytes(path: String, max: Int): Option[Array[Byte]]

  def exists(path: String): Boolean

  def isDirectory(path: String): Boolean

  /** The names in a directory, sorted. */
  def names(directory: String): Vector[String]

  /** Where a path leads when its links are followed, relative to the root. */
  def resolved(path: String): Option[String]

  /** A directory below the root as a new root; none where it is a link. */
  def below(name: String): Option[TreeFiles]
}

final private[topology] class DirectoryFiles(root: Path) extends TreeFiles {
  private val real: Path = root.toRealPath()

  override val isLive: Boolean = Option(real.getParent).isEmpty

  override def bytes(path: String, max: Int): Option[Array[Byte]] =
    inside(path).filter(Files.isRegularFile(_)).flatMap { file =>
      try Some(Using.resource(Files.newInputStream(file))(_.readNBytes(max)))
      catch { case _: IOException => None }
    }

  override def exists(path: String): Boolean = inside(path).exists(Files.exists(_))

  override def isDirectory(path: String): Boolean = inside(path).exists(Files.isDirectory(_))

  override def names(directory: String): Vector[String] =
    inside(directory).filter(Files.isDirectory(_)).fold(Vector.empty[String]) { dir =>
      try
        Using.resource(Files.newDirectoryStream(dir)) { entries =>
          entries.iterator.asScala.map(_.getFileName.toString).toVector.sorted
        }
      catch { case _: IOException => Vector.empty }
    }

  override def resolved(path: String): Option[String] =
    try inside(path).map(file => real.relativize(file.toRealPath()).toString)
    catch { case _: IOException => None }

  override def below(name: String): Option[TreeFiles] =
    Option.when(Files.isDirectory(real.resolve(name), NOFOLLOW_LINKS))(
      new DirectoryFiles(real.resolve(name))
    )

  private def inside(path: String): Option[Path] = {
    val file = real.resolve(path.dropWhile(_ == '/'))
    if (isLive) Some(file.normalize)
    else
      try Some(file.toRealPath()).filter(_.startsWith(real))
      catch { case _: IOException => None }
  }
}
