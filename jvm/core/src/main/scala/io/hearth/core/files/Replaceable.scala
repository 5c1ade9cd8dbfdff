package io.hearth.core.files

import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.attribute.PosixFileAttributes
import java.nio.file.{Files, Path}

import scala.util.Try

import com.sun.jna.{LastErrorException, Pointer}

import io.hearth.core.syscalls.LibC

/**
 * Who can replace a file by one of theirs: who can rename entries of a directory above it. That is the owner
 * of each, and without the sticky bit all that can write to it (inode(7)): everybody, its group, or those
 * that an ACL names. `hearth.base.private_files` does the same for the command line.
 *
 * A user's private group, of the same name, is nobody else, and the group of root has root's rights anyway.
 */
private[core] object Replaceable {
  private val OthersWrite = 0x002
  private val GroupWrites = 0x010
  private val Sticky = 0x200
  private val Permissions = 0xfff

  /** The user and the group of files whose owner this user namespace does not know, user_namespaces(7). */
  private val Overflow = 65534
  private val AllIds = Vector("0", "0", "4294967295")

  /**
   * Why others can replace what is, or will be, at a path: by all existing directories above it, and above
   * what it leads to by links.
   */
  def reason(path: Path): Option[String] = {
    val there = (path +: above(path)).filter(Files.exists(_))
    val all =
      there.filter(_ != path) ++ there.headOption.toVector.flatMap(p => above(p.toRealPath()))
    all.distinct.flatMap(weakness).headOption.map(why => s"others can replace it: $why")
  }

  private def above(path: Path): Vector[Path] =
    Vector.unfold(path.toAbsolutePath)(p => Option(p.getParent).map(up => (up, up)))

  private def weakness(directory: Path): Option[String] = {
    val mode = Files.getAttribute(directory, "unix:mode").asInstanceOf[Int]
    val owners = Vector(uid(directory), Files.getAttribute(directory, "unix:uid").asInstanceOf[Int])
    val strangers = owners.filterNot(owner => owner == 0 || owner == me || isUnknown(owner))
    val shown = f"$directory has mode ${mode & Permissions}%o"
    def mend(bits: String) = s"('chmod +t $directory' or 'chmod $bits' fixes that)"
    if (strangers.nonEmpty)
      Some(
        s"$directory belongs to user ${strangers.head}; use a directory inside one of yours or root's"
      )
    else if ((mode & Sticky) != 0) None
    else if ((mode & OthersWrite) != 0) Some(s"$shown ${mend("o-w")}")
    else if ((mode & GroupWrites) != 0)
      otherGroup(directory).map(who => s"$shown, $who ${mend("g-w")}")
    else None
  }

  /** Whom the bits of the group stand for, where that is somebody else. */
  private def otherGroup(directory: Path): Option[String] = {
    val group = Files.readAttributes(directory, classOf[PosixFileAttributes]).group.getName
    val ofRoot = Files.getAttribute(directory, "unix:gid").asInstanceOf[Int] == 0
    val own = Files.getOwner(Path.of("/proc/self")).getName
    if (hasAcl(directory)) Some("with an ACL")
    else Option.unless(ofRoot || group == own)(s"group $group")
  }

  /** With an ACL the bits of the group are the most that it gives to anybody (acl(5)). */
  private def hasAcl(directory: Path): Boolean =
    try LibC.instance.getxattr(directory.toString, "system.posix_acl_access", Pointer.NULL, 0) > 0
    catch {
      case _: LastErrorException => false // it has none, or its file system has no such thing
      case _: LinkageError => true // it cannot be asked
    }

  /** Of a container's own user namespace: outside it, that is root or some user of the host. */
  private def isUnknown(uid: Int): Boolean = uid == Overflow && Try(
    Files.readString(Path.of("/proc/self/uid_map")).trim.split("\\s+").toVector
  ).toOption.exists(_ != AllIds)

  def me: Int = uid(Path.of("/proc/self"))

  def uid(path: Path): Int = Files.getAttribute(path, "unix:uid", NOFOLLOW_LINKS).asInstanceOf[Int]
}
