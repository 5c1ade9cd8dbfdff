package io.hearth.core.leases

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{AccessDeniedException, Files, Path}

import com.sun.jna.{LastErrorException, Memory, Platform}

import io.hearth.core.affinity.NativeCode
import io.hearth.core.leases.LinuxLocks.libc
import io.hearth.core.syscalls.LibC

/**
 * An open file with the locks that are held by it: they belong to the open file description, not to the
 * process (fcntl(2), "Open file description locks"), so that reading the same file elsewhere in this JVM
 * does not drop them. Closed by the kernel when the process ends, however that is.
 */
final class OpenFile private[leases] (val fd: Int) extends AutoCloseable {

  /** The file itself, whatever is at its path by now (proc(5)). */
  private[leases] val itself: Path = Path.of(s"/proc/self/fd/$fd")

  private[leases] def status: FileStatus = {
    val attributes = Files.readAttributes(itself, "unix:mode,uid,ino")
    FileStatus(
      attributes.get("mode").asInstanceOf[Int],
      attributes.get("uid").asInstanceOf[Int],
      attributes.get("ino").asInstanceOf[Long]
    )
  }

  /** Locks one byte against all others that write-lock it, where it is free. */
  def lockByte(at: Long): Boolean = {
    val lock = LinuxLocks.record(LinuxLocks.WriteLock, at, 1)
    LinuxLocks.unlessHeld(libc.fcntl(fd, LinuxLocks.OfdSetLock, lock))
  }

  def unlockByte(at: Long): Unit = {
    val lock = LinuxLocks.record(LinuxLocks.Unlock, at, 1)
    LinuxLocks.checked("fcntl")(libc.fcntl(fd, LinuxLocks.OfdSetLock, lock))
    ()
  }

  /** Whether anybody else holds a write lock on any part of it: only who may write to the file can. */
  private[leases] def isWriteLocked: Boolean = {
    val query = LinuxLocks.record(LinuxLocks.ReadLock, 0, 0)
    LinuxLocks.checked("fcntl")(libc.fcntl(fd, LinuxLocks.OfdGetLock, query))
    query.getShort(0) == LinuxLocks.WriteLock
  }

  /** Locks the whole file as flock(2) does, where nobody else has. */
  private[leases] def flock(): Boolean =
    LinuxLocks.unlessHeld(libc.flock(fd, LinuxLocks.Exclusive | LinuxLocks.NonBlocking))

  private[leases] def write(bytes: Array[Byte]): Unit = {
    var done = 0
    while (done < bytes.length) {
      val rest = bytes.drop(done)
      done += LinuxLocks.checked("write")(libc.write(fd, rest, rest.length.toLong).toInt)
    }
  }

  private[leases] def setMode(mode: Int): Unit = {
    LinuxLocks.checked("fchmod")(libc.fchmod(fd, mode))
    ()
  }

  override def close(): Unit = {
    libc.close(fd)
    ()
  }
}

object OpenFile {

  /** Writes to a file that this process has inherited. @throws IOException */
  private[core] def tell(fd: Int, text: String): Unit = new OpenFile(fd).write(text.getBytes(UTF_8))
}

/** What the kernel says of an open file, inode(7). */
final private[leases] case class FileStatus(mode: Int, uid: Int, inode: Long) {
  def isRegular: Boolean = (mode & 0xf000) == 0x8000

  /** Of a file with an ACL the bits of the group are the most that it gives to anybody (acl(5)). */
  def isWritableByOthers: Boolean = (mode & 0x12) != 0
}

/** Opens files without following a link at the end of the path; nothing is inherited by a program. */
private[leases] object LinuxLocks {
  val ReadLock: Short = 0
  val WriteLock: Short = 1
  val Unlock: Short = 2
  val OfdGetLock = 36
  val OfdSetLock = 37
  val Exclusive = 2
  val NonBlocking = 4

  private val ReadWrite = 2
  private val Create = 0x40
  private val Exclusively = 0x80
  private val DoNotBlock = 0x800
  private val CloseOnExec = 0x80000

  // errno(3)
  private val NoEntry = 2
  private val Again = 11
  private val Denied = 13
  private val Interrupted = 4

  final private case class ArchFlags(directory: Int, noFollow: Int)

  /** These two differ (kernel: arch/.../uapi/asm/fcntl.h). */
  private def flags: ArchFlags = Platform.ARCH match {
    case "aarch64" | "ppc64le" => ArchFlags(directory = 0x4000, noFollow = 0x8000)
    case _ => ArchFlags(directory = 0x10000, noFollow = 0x20000)
  }

  def directory(path: Path): OpenFile = open(path, flags.directory, 0)

  /** A named pipe or a device does not hold up the reader. */
  def toRead(path: Path): OpenFile = open(path, DoNotBlock, 0)

  def toWrite(path: Path): OpenFile = open(path, ReadWrite | DoNotBlock, 0)

  /** A file that is not there yet. */
  def create(path: Path, mode: Int): OpenFile = open(path, ReadWrite | Create | Exclusively, mode)

  private def open(path: Path, how: Int, mode: Int): OpenFile =
    try new OpenFile(libc.open(path.toString, how | flags.noFollow | CloseOnExec, mode))
    catch {
      case e: LastErrorException if e.getErrorCode == NoEntry =>
        throw new FileNotFoundException(path.toString)
      case e: LastErrorException if e.getErrorCode == Denied =>
        throw new AccessDeniedException(path.toString)
      case e: LastErrorException => throw new IOException(s"$path: ${e.getMessage}", e)
    }

  /** `struct flock` of 64-bit systems. */
  def record(kind: Short, start: Long, length: Long): Memory = {
    val lock = new Memory(32)
    lock.clear()
    lock.setShort(0, kind)
    lock.setLong(8, start)
    lock.setLong(16, length)
    lock
  }

  def unlessHeld(call: => Int): Boolean =
    try {
      val _ = call
      true
    } catch {
      case e: LastErrorException if Set(Again, Denied, Interrupted)(e.getErrorCode) => false
      case e: LastErrorException => throw new IOException(s"lock: ${e.getMessage}", e)
    }

  def checked(name: String)(call: => Int): Int =
    try call
    catch { case e: LastErrorException => throw new IOException(s"$name: ${e.getMessage}", e) }

  /** @throws IOException where JNA's native code cannot be loaded */
  private[leases] def libc: LibC = {
    NativeCode.problem.foreach(why => throw new IOException(why))
    LibC.instance
  }
}
