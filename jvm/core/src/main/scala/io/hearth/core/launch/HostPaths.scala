package io.hearth.core.launch

import java.nio.file.{Files, Path}

/** Mounts, and paths for which there is none: the directory to write to is not one application's alone. */
final case class Wanted(mounts: Vector[Mount], left: Vector[Path]) {
  def ++(other: Wanted): Wanted = Wanted(mounts ++ other.mounts, left ++ other.left)
}

object Wanted {
  val nothing: Wanted = Wanted(Vector.empty, Vector.empty)
  def all(parts: Iterable[Wanted]): Wanted = parts.foldLeft(nothing)(_ ++ _)
}

/**
 * From paths that somebody named to mounts.
 *
 * @param homes home directories, which are never mounted for the sake of something in them
 */
final class HostPaths(homes: Set[Path]) {
  import HostPaths._

  /** A file to read, a directory to write to as well; what is not there is to be made. */
  def named(path: Path): Wanted =
    if (Files.isDirectory(path)) Wanted(Vector(Mount(path, writable = true)), Vector.empty)
    else if (Files.exists(path)) Wanted(Vector(Mount(path, writable = false)), Vector.empty)
    else toBeMade(path)

  /** The directory in which a file or directory is made: the nearest that is there. */
  def toBeMade(path: Path): Wanted = {
    val above = Iterator.iterate(path)(_.getParent).find(Files.isDirectory(_)).getOrElse(Root)
    if (!isShared(above)) Wanted(Vector(Mount(above, writable = true)), Vector.empty)
    // What begins with a slash need not be a path.
    else Wanted(Vector.empty, Vector(path).filter(_ => above != Root))
  }

  /** Whether a directory holds what belongs to others, or to everything that its user does. */
  def isShared(path: Path): Boolean =
    Top(path) || homes(path) || Option(path.getParent).contains(Homes) || sticky(path)

  private def sticky(path: Path): Boolean =
    (Files.getAttribute(path, "unix:mode").asInstanceOf[Int] & StickyBit) != 0
}

object HostPaths {
  private val Root = Path.of("/")
  private val Homes = Path.of("/home")
  private val StickyBit = 0x200 // inode(7)

  /** Of the Filesystem Hierarchy Standard 3.0. */
  private val Top: Set[Path] =
    ("/ /bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr " +
      "/var").split(' ').map(Path.of(_)).toSet

  def ofUser(environment: Map[String, String]): HostPaths = {
    val named =
      environment.get("HOME").filter(_.startsWith("/")).toSet + System.getProperty("user.home")
    val homes = named.map(Path.of(_).normalize)
    new HostPaths(homes ++ homes.filter(Files.exists(_)).map(_.toRealPath()))
  }
}
