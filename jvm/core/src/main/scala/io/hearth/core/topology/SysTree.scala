package io.hearth.core.topology

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Path
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import io.hearth.affinity.Tree
import io.hearth.core.Brief

/**
 * The files of sysfs and procfs under a root: `/`, or a capture. Paths are relative to it.
 *
 * A file that is absent, or that the kernel refuses to read (as it does for what does not apply to a
 * device), is `None`. So is one with unexpected content, with a warning. A link that
 * leads out of the root is treated as absent, so a capture can never show files of the machine that
 * reads it.
 */
final class SysTree private[topology] (files: TreeFiles, warnings: Warnings) {

  def this(root: Path) = this(new DirectoryFiles(root), new Warnings)

  /** Whether this is the running machine itself, not a capture. */
  def isLive: Boolean = files.isLive

  def text(path: String): Option[String] =
    files.bytes(path, SysTree.LargestFile).map(new String(_, ISO_8859_1))

  /** The file's text without surrounding blanks; an empty file is `None`. */
  def line(path: String): Option[String] = text(path).map(_.trim).filter(_.nonEmpty)

  def int(path: String): Option[Int] =
    line(path).flatMap(text =>
      orWarn(path, text.toIntOption.toRight(s"'${Brief(text)}' is not a number"))
    )

  /** A set in the kernel's list format; an empty file is the empty set, a malformed one `None`. */
  def list(path: String): Option[IdSet] =
    text(path).flatMap(text => orWarn(path, IdSet.parse(text)))

  /** A set in the kernel's mask format. */
  def mask(path: String): Option[IdSet] =
    line(path).flatMap(text => orWarn(path, IdSet.parseMask(text)))

  /** What was understood of a file; the rest becomes a warning. */
  private[topology] def orWarn[A](path: String, value: Either[String, A]): Option[A] = {
    value.left.foreach(problem => warnings.add(s"${path.stripPrefix("/")} is ignored: $problem"))
    value.toOption
  }

  def exists(path: String): Boolean = files.exists(path)

  /** The names in a directory, sorted. */
  def names(directory: String): Vector[String] = files.names(directory)

  /** The ids of the entries `prefixN` of a directory. */
  def ids(directory: String, prefix: String): IdSet = {
    val all = names(directory).filter(_.startsWith(prefix)).map(_.drop(prefix.length))
    val numbers = all.filter(name => name.nonEmpty && name.forall(c => c >= '0' && c <= '9'))
    val (known, beyond) = numbers.partition(_.toIntOption.exists(_ <= IdSet.MaxId))
    if (beyond.nonEmpty)
      warnings.add(
        s"$directory has ${beyond.size} entries above $prefix${IdSet.MaxId}, the largest id that hearth " +
          "reads: they are left out"
      )
    IdSet.from(known.map(_.toInt))
  }

  /** Where a path leads when its links are followed, relative to the root. */
  def resolved(path: String): Option[String] = files.resolved(path)

  /** The same for hearth's Java side. */
  private[topology] def asTree: Tree = new Tree {
    override def line(path: String): Optional[String] = SysTree.this.line(path).toJava
    override def names(directory: String): java.util.List[String] =
      SysTree.this.names(directory).asJava
    override def resolved(path: String): Optional[String] = SysTree.this.resolved(path).toJava
  }
}

private[topology] object SysTree {

  /** Bytes read of one file at most: `/proc/cpuinfo` of 8192 CPUs is 12 MB. */
  val LargestFile: Int = 32 * 1024 * 1024
}
