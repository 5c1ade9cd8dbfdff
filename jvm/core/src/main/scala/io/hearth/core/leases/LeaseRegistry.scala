package io.hearth.core.leases

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, LinkOption, Path}
import java.util.UUID

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.IoReason
import io.hearth.core.files.OwnFiles
import io.hearth.core.files.Replaceable.{me, uid}
import io.hearth.core.json.Json

/**
 * The leases of this machine: a file each, which counts while a process holds a write lock on any byte of it
 * (docs/decisions/0011-leases-are-locked-files.md). The driver locks the first byte, each executor one of its
 * own, so that a lease ends with the last of them. Only who may write to a file can hold such a lock.
 *
 * @param directory shared by all users, see [[LeaseRegistry.directory]]
 * @param boot which boot of which machine this is
 * @param limitMs how long the directory's lock is waited for, in all
 */
final class LeaseRegistry(
    directory: Path,
    boot: String,
    limitMs: Long = LeaseRegistry.MaxLockWaitMs
) {
  import LeaseFiles.{Prefix, Suffix}
  import LeaseRegistry._

  private val files = new LeaseFiles(directory, boot)

  /** Reads all leases; without the lock, one that is just being taken may be missing. Throws IOException */
  def read(): Leases = {
    checkDirectory()
    files.read()
  }

  /** Locks it while nobody else can open it: who can read a file can lock it so that nobody else can. */
  private def publish(document: JsonNode, partial: Path, open: OpenFile): ActiveLease = {
    val file = directory.resolve(s"$Prefix${UUID.randomUUID}$Suffix")
    try {
      OwnFiles.replace(file, partial) {
        if (!open.lockByte(0)) throw new IOException(s"$partial: somebody else has locked it")
        open.write(Json.pretty(document).getBytes(UTF_8))
        open.setMode(ReadableByAll) // whatever the umask
      }
      new ActiveLease(file, open)
    } catch {
      case e: IOException =>
        open.close()
        throw new IOException(s"$directory: ${IoReason(e)}", e)
    }
  }

  /**
   * Does something while nobody else takes a lease; where somebody keeps the lock of the directory beyond a
   * limit, without the lock: then the leases say so, and none that holds CPUs is taken.
   *
   * @param say is told who has the lock, where that takes some seconds
   * Throws IOException where there is no registry
   */
  def exclusively[A](say: String => Unit = _ => ())(work: Exclusive => A): A = {
    checkDirectory()
    val done = new DirectoryLock(directory).hold(limitMs, say) {
      sweep()
      work(new Exclusive(None))
    }
    done.fold(who => work(new Exclusive(Some(who))), identity)
  }

  /**
   * Exists while this process has the registry to itself.
   *
   * @param locked who has kept the lock, where it could not be taken
   */
  final class Exclusive private[LeaseRegistry] (locked: Option[String]) {
    def leases: Leases = {
      val now = read()
      now.copy(unknown = now.unknown ++ locked)
    }

    /** Publishes a lease. Throws IOException where there is no room, or no right to write */
    def take(lease: Lease): ActiveLease = {
      val partial = directory.resolve(s".$Prefix${UUID.randomUUID}.new")
      publish(document(lease), partial, LinuxLocks.create(partial, OwnersOnly))
    }

    /**
     * Publishes a lease whose file another process has made here and holds open: it ends with that one.
     *
     * @param fd the same open file description, inherited
     */
    def takeFor(lease: Lease, partial: Path, fd: Int): Unit = {
      if (partial.getParent != directory) throw new IOException(s"$partial is not in $directory")
      val _ = publish(document(lease), partial, new OpenFile(fd))
    }

    /** Of two that take CPUs at once, without the lock neither sees the other. */
    private def document(lease: Lease): JsonNode = {
      require(locked.isEmpty || lease.cpus.isEmpty, s"a lease of CPUs without the lock: $locked")
      lease.copy(boot = boot).toJson
    }

    def nextTicket: Long =
      leases.waiting.flatMap(_.lease.ticket).maxOption.fold(1L)(t => math.min(t, MaxTickets) + 1)
  }

  /** Removes files of this user whose holders are gone; what it cannot remove does no harm. */
  private def sweep(): Unit = files.ours.filterNot(isBeingMade).foreach { file =>
    Try(Using.resource(LinuxLocks.toRead(file)) { open =>
      if (!open.isWriteLocked) Files.deleteIfExists(file)
    })
  }

  /** Where others than root and this user could take a lease away, none is kept. */
  private def checkDirectory(): Unit = {
    val mode = Files.getAttribute(directory, "unix:mode", NoFollow).asInstanceOf[Int]
    val owner = uid(directory)
    def refuse(why: String) = throw new IOException(s"$directory: $why")
    if ((mode & TypeOfFile) != DirectoryFile) refuse("it is not a directory")
    if (owner != 0 && owner != me) refuse(s"it belongs to user $owner, who could remove leases")
    if ((mode & OthersWrite) != 0 && (mode & Sticky) == 0)
      refuse("others could remove leases: 'chmod +t' fixes that")
  }
}

object LeaseRegistry {

  /** Names another directory, such as one that containers share. */
  val Variable = "HEARTH_LEASES"

  /** Names the file of an application's lease to those that keep it with the driver ([[join]]). */
  val FileVariable = "HEARTH_LEASE"

  /** An administrator's own; for locks, where there is one for all users; on every Linux. */
  private val Candidates = Vector("/run/hearth", "/run/lock", "/dev/shm")

  private val MaxTickets = 1L << 52
  private val MaxLockWaitMs = 30000L
  private val MaxMakingMs = 600000L
  private val NoFollow = LinkOption.NOFOLLOW_LINKS

  // inode(7)
  private val TypeOfFile = 0xf000
  private val DirectoryFile = 0x4000
  private val Sticky = 0x200
  private val OthersWrite = 0x12
  private val ReadableByAll = 0x1a4 // 0644
  private val OwnersOnly = 0x180 // 0600

  /** Throws IOException where this machine has no directory for all users */
  def here(environment: String => Option[String]): LeaseRegistry =
    new LeaseRegistry(directory(environment), bootId())

  /** The first of the usual ones that is root's, open to all and sticky: no user can remove another's file. */
  def directory(environment: String => Option[String]): Path =
    environment(Variable).filter(_.nonEmpty).map(Path.of(_).toAbsolutePath).getOrElse {
      Candidates.map(Path.of(_)).find(isForAll).getOrElse {
        throw new IOException(
          s"none of ${Candidates.mkString(", ")} is root's, open to all users and sticky; $Variable can name one"
        )
      }
    }

  private def isForAll(path: Path): Boolean = Try {
    val mode = Files.getAttribute(path, "unix:mode", NoFollow).asInstanceOf[Int]
    val owner = uid(path)
    owner == 0 && (mode & TypeOfFile) == DirectoryFile && (mode & 0x202) == 0x202
  }.getOrElse(false)

  private def bootId(): String =
    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim

  /** Another process of this user makes a file before it takes a lease ([[Exclusive.takeFor]]). */
  private def isBeingMade(file: Path): Boolean =
    !LeaseFiles.isLease(file) && Try(
      System.currentTimeMillis - Files.getLastModifiedTime(file, NoFollow).toMillis
    ).toOption.forall(_ < MaxMakingMs)

  /**
   * Keeps an application's lease while this process lives.
   *
   * @param byte one that no other process of the application locks, above 0
   * Throws IOException where the lease is gone or not this user's
   */
  def join(file: Path, byte: Long): OpenFile = {
    val open = LinuxLocks.toWrite(file)
    def refuse(why: String) = {
      open.close()
      throw new IOException(why)
    }
    if (open.status.uid != me || !open.status.isRegular)
      refuse(s"$file is not this application's lease")
    if (!open.lockByte(byte)) refuse(s"$file: another process has locked byte $byte of it")
    open
  }
}

/** A lease of this process; it ends when it is closed, or when this process and all that joined have ended. */
final class ActiveLease private[leases] (val file: Path, open: OpenFile) extends AutoCloseable {
  def name: String = file.getFileName.toString

  /** At once for all who ask the kernel, also where a child that is just being made has inherited the file. */
  override def close(): Unit =
    try {
      Files.deleteIfExists(file)
      ()
    } finally abandon()

  /** As the kernel does when the process is killed: the file stays. */
  private[hearth] def abandon(): Unit =
    try open.unlockByte(0)
    finally open.close()
}
