package io.hearth.core.files

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.attribute.PosixFilePermission
import java.nio.file.attribute.PosixFilePermissions.{asFileAttribute, fromString}
import java.nio.file.{FileAlreadyExistsException, Files, Path, StandardCopyOption}

import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * Files and directories that only their owner can read, from creation, whatever the umask.
 *
 * Below directories that others can write to (`/tmp`, `/dev/shm`, a shared `spark.local.dir`), whatever is
 * there already must be this user's own: somebody else's directory, or a link, could lead anywhere. Nothing is
 * kept below a directory in which others can replace what is not theirs, see `Replaceable`.
 */
object OwnFiles {
  import Replaceable.{me, uid}

  private val Directory = asFileAttribute(fromString("rwx------"))
  private val File = asFileAttribute(fromString("rw-------"))
  private val Writable = Set(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE)

  /**
   * Makes a directory and all missing parents.
   *
   * Throws IOException with the reason, where it exists and is a link, another user's, or open to
   * others, or where others can replace it
   */
  def claim(path: Path): Path = {
    refuseReplaceable(path)
    Option(path.toAbsolutePath.getParent).foreach(Files.createDirectories(_, Directory))
    try Files.createDirectory(path, Directory)
    catch {
      case _: FileAlreadyExistsException =>
        refusal(path).foreach(reason => throw new IOException(reason))
        path
    }
  }

  /**
   * As [[claim]] for a directory that stays: one of this user's that is open to others is closed to
   * them, a link of this user's is followed.
   */
  def keep(path: Path): Path = {
    refuseReplaceable(path)
    if (!Files.exists(path, NOFOLLOW_LINKS)) Files.createDirectories(path, Directory)
    (Set(path) + path.toRealPath())
      .find(uid(_) != me)
      .foreach(p => throw new IOException(s"$p: ${notOurs(p)}"))
    if (!Files.isDirectory(path)) throw new IOException(s"$path: it is not a directory")
    if (permissions(path.toRealPath()).exists(p => !p.name.startsWith("OWNER")))
      Files.setPosixFilePermissions(path.toRealPath(), fromString("rwx------"))
    path
  }

  /** Whether the file exists and only this user or root can have written or replaced it. */
  def trusted(file: Path): Boolean = Files.isRegularFile(file, NOFOLLOW_LINKS) && {
    val both = Vector(file, file.getParent).map(_.toRealPath())
    both.forall(p => Set(me, 0).contains(uid(p))) && !both.exists(
      permissions(_).exists(Writable)
    ) &&
    Replaceable.reason(file).isEmpty
  }

  /** An empty file; an existing one, or a link, is removed first. */
  def empty(file: Path): Path = {
    Files.deleteIfExists(file)
    Files.createFile(file, File)
  }

  /** Writes a file completely or not at all. */
  def write(file: Path, text: String): Unit = {
    val partial = file.resolveSibling(s".${file.getFileName}.partial")
    Files.deleteIfExists(partial)
    replace(file, partial) {
      Using.resource(Files.newByteChannel(partial, Set(CREATE_NEW, WRITE).asJava, File)) { out =>
        val bytes = ByteBuffer.wrap(text.getBytes(UTF_8))
        while (bytes.hasRemaining) out.write(bytes)
      }
    }
  }

  /**
   * Puts what is written to `partial` in the place of `file`, at once: a reader sees the old file or the new one.
   * Nothing is left of `partial`, whatever happens.
   *
   * @param partial in the same directory
   */
  def replace(file: Path, partial: Path)(write: => Unit): Unit = {
    try {
      write
      Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE)
    } finally Files.deleteIfExists(partial)
    ()
  }

  private def refuseReplaceable(path: Path): Unit =
    Replaceable.reason(path).foreach(reason => throw new IOException(reason))

  private def refusal(path: Path): Option[String] =
    if (Files.isSymbolicLink(path)) Some("it is a symbolic link")
    else if (!Files.isDirectory(path)) Some("it is not a directory")
    else if (uid(path) != me) Some(notOurs(path))
    else
      Option.when(permissions(path).exists(Writable))("others can write to it")

  private def notOurs(path: Path) = s"it belongs to user ${uid(path)}, not to $me"
  private def permissions(path: Path) = Files.getPosixFilePermissions(path).asScala
}
