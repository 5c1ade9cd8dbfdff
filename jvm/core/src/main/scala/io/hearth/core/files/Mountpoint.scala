package io.hearth.core.files

import java.io.IOException
import java.nio.file.{Files, Path}

/**
 * What is mounted at a directory.
 *
 * @param options of the mount itself, such as `noexec` (mount(8))
 */
final case class Mountpoint(directory: Path, options: Set[String]) {
  def noexec: Boolean = options("noexec")
}

object Mountpoint {
  private val Table = Path.of("/proc/self/mountinfo")

  /** Where the mount begins from which no program or library may be run, for a path on such a mount. */
  def noexec(path: Path): Option[Path] =
    try of(existing(path), Files.readString(Table)).filter(_.noexec).map(_.directory)
    catch { case _: IOException => None } // what cannot be read is taken for one without

  /**
   * The mount on which a path lies.
   *
   * @param path absolute, without links
   * @param table as of `/proc/PID/mountinfo` (proc(5)); of several mounts at a place the last is seen
   */
  private[files] def of(path: Path, table: String): Option[Mountpoint] =
    table.linesIterator
      .map(_.split(' '))
      .collect { case fields if fields.length > 5 => (fields(4), fields(5)) }
      .map { case (at, options) => Mountpoint(Path.of(unescaped(at)), options.split(',').toSet) }
      .filter(mount => path.startsWith(mount.directory))
      .reduceOption((a, b) => if (b.directory.getNameCount >= a.directory.getNameCount) b else a)

  /** The nearest directory above that is there, as the kernel finds it. */
  private def existing(path: Path): Path =
    Iterator.iterate(path.toAbsolutePath)(_.getParent).find(Files.exists(_)).get.toRealPath()

  /** Blanks, tabs, line breaks and backslashes are written as octal numbers. */
  private def unescaped(text: String): String =
    """\\([0-7]{3})""".r.replaceAllIn(
      text,
      m => java.util.regex.Matcher.quoteReplacement(Integer.parseInt(m.group(1), 8).toChar.toString)
    )
}
