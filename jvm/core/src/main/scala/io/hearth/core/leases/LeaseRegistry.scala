package io.hearth.core.leases

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{AccessDeniedException, Files, LinkOption, Path, StandardCopyOption}
import java.util.UUID
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.UserError
import io.hearth.core.json.Json

/**
 * The leases of this machine: a file each, which counts while a process holds a write lock on any byte of it
 * (docs/decisions/0011-leases-are-locked-files.md). The driver locks the first byte, each executor one of its
 * own, so that a lease ends with the last of them. Only who may write to a file can hold such a lock.
 *
 * @param directory shared by all users, see [[LeaseRegistry.directory]]
 * @param boot which boot of which machine this is
 */
final class LeaseRegistry(directory: Path, boot: String) {
  import LeaseRegistry._

  /** Reads all leases; without the lock, one that is just being taken may be missing. @throws IOException */
  def read(): Leases = {
    val read = readAll(LeaseKind)
    Leases(read.found.map(live), read.problems)
  }

  private[leases] def live(found: Found[Lease]): LiveLease =
    LiveLease(found.value, found.user, found.ours)

  /** All files of a kind whose holders live. @throws IOException */
  private[leases] def readAll[A](
      kind: Kind[A],
      holds: OpenFile => Boolean = _.isWriteLocked
  ): ReadFiles[A] = {
    checkDirectory()
    val files = Using.resource(Files.list(directory))(
      _.iterator.asScala.filter(isOf(kind.prefix)).take(MostLeases + 1).toVector
    )
    val read = files.take(MostLeases).sorted.map(readOne(_, kind, holds))
    val many = Option.when(files.sizeIs > MostLeases)(
      s"$directory holds more than $MostLeases files '${kind.prefix}*', the rest is not read"
    )
    ReadFiles(read.flatMap(_.toOption.flatten), read.flatMap(_.left.toOption).toVector ++ many)
  }

  /** A file of this registry, by the name that another one says it has. */
  private[leases] def named(name: String, prefix: String): Option[Path] =
    Option.when(name.startsWith(prefix) && name.endsWith(Suffix) && !name.contains('/'))(
      directory.resolve(name)
    )

  /** Publishes a document of this process's. @throws IOException where there is no room, or no right to write */
  private[leases] def publish(document: JsonNode, prefix: String): HeldLease = {
    val partial = directory.resolve(s".$Prefix${UUID.randomUUID}.new")
    publish(document, prefix, partial, LinuxLocks.create(partial, ReadableByAll))
  }

  private def publish(
      document: JsonNode,
      prefix: String,
      partial: Path,
      open: OpenFile
  ): HeldLease = {
    val file = directory.resolve(s"$prefix${UUID.randomUUID}$Suffix")
    try {
      open.setMode(ReadableByAll) // whatever the umask
      if (!open.lockByte(0)) throw new IOException(s"$partial: somebody else has locked it")
      open.write(Json.pretty(document).getBytes(UTF_8))
      Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE)
      new HeldLease(file, open)
    } catch {
      case e: IOException =>
        open.close()
        Files.deleteIfExists(partial)
        throw e
    }
  }

  private[leases] def bootHere: String = boot

  /**
   * Does something while nobody else takes a lease.
   *
   * @param waitMs how long one other process may keep the lock
   * @throws UserError naming the process that keeps it longer
   * @throws IOException where there is no registry
   */
  def exclusively[A](waitMs: Long = LongestMs)(work: Exclusive => A): A = {
    checkDirectory()
    Using.resource(LinuxLocks.directory(directory)) { lock =>
      await(lock, waitMs)
      sweep()
      work(new Exclusive)
    }
  }

  /** Exists while this process has the registry to itself. */
  final class Exclusive private[LeaseRegistry] {
    def leases: Leases = read()

    /** Publishes a lease. @throws IOException where there is no room, or no right to write */
    def take(lease: Lease): HeldLease = publish(lease.copy(boot = boot).toJson, Prefix)

    /**
     * Publishes a lease whose file another process has made here and holds open: it ends with that one.
     *
     * @param fd the same open file description, inherited
     */
    def takeFor(lease: Lease, partial: Path, fd: Int): Unit = {
      if (partial.getParent != directory) throw new IOException(s"$partial is not in $directory")
      val _ = publish(lease.copy(boot = boot).toJson, Prefix, partial, new OpenFile(fd))
    }

    def nextTicket: Long =
      leases.waiting.flatMap(_.lease.ticket).maxOption.fold(1L)(t => math.min(t, MostTickets) + 1)
  }

  /** Files of this user whose holders are gone; what it cannot remove does no harm. */
  private def sweep(): Unit =
    Using
      .resource(Files.list(directory))(_.iterator.asScala.filter(isOurs).take(MostLeases).toVector)
      .filter(file => Try(uid(file) == me && !isBeingMade(file)).getOrElse(false))
      .foreach { file =>
        Try(Using.resource(LinuxLocks.toRead(file)) { open =>
          if (!open.isWriteLocked && !isLoanOfLiving(file, open)) Files.deleteIfExists(file)
        })
      }

  /** What a killed driver had borrowed is in use for as long as its executors are. */
  private def isLoanOfLiving(file: Path, open: OpenFile): Boolean =
    isOf(LoanPrefix)(file) && BorrowedCpus.read(text(open)).exists(loan => isHeld(loan.lease))

  /** Whether a lease, by the name of its file, has a holder that lives. */
  private[leases] def isHeld(lease: String): Boolean = named(lease, Prefix).exists(file =>
    Try(Using.resource(LinuxLocks.toRead(file))(_.isWriteLocked)).getOrElse(false)
  )

  /** Nothing for a file whose holder is gone, or that went meanwhile; a sentence for what is none. */
  private def readOne[A](
      file: Path,
      kind: Kind[A],
      holds: OpenFile => Boolean
  ): Either[String, Option[Found[A]]] =
    try
      Using.resource(LinuxLocks.toRead(file)) { open =>
        if ((attribute[Int](open, "mode") & TypeOfFile) != RegularFile)
          Left(s"$file is not a regular file")
        else if (!holds(open)) Right(None)
        else believed(file, open, kind)
      }
    catch {
      case _: FileNotFoundException => Right(None)
      case _: AccessDeniedException => Left(s"$file cannot be read: permission denied")
      case e: IOException => Left(s"$file cannot be read: ${e.getMessage}")
    }

  private def believed[A](
      file: Path,
      open: OpenFile,
      kind: Kind[A]
  ): Either[String, Option[Found[A]]] =
    if ((attribute[Int](open, "mode") & OthersWrite) != 0)
      Left(s"$file is not believed: others than its owner can write to it")
    else if (attribute[Int](open, "nlink") != 1)
      Left(s"$file is not believed: it has more than one name")
    else
      kind.parse(text(open)) match {
        case Left(problem) => Left(s"$file is no lease: $problem")
        case Right(value) if kind.bootOf(value) != boot => Right(None)
        case Right(value) =>
          val uid = attribute[Int](open, "uid")
          Right(Some(Found(file.getFileName.toString, value, uid, nameOf(open, uid), uid == me)))
      }

  private[leases] def text(open: OpenFile): String =
    Using.resource(Files.newInputStream(open.itself))(in =>
      new String(in.readNBytes(LongestLease), UTF_8)
    )

  private def attribute[A](open: OpenFile, name: String): A = open.attribute(name).asInstanceOf[A]

  private def nameOf(open: OpenFile, uid: Int): String =
    Lease.printable(Try(Files.getOwner(open.itself).getName).getOrElse(s"$uid"))

  /** Where others than root and this user could take a lease away, none is kept. */
  private def checkDirectory(): Unit = {
    val mode = Files.getAttribute(directory, "unix:mode", NoFollow).asInstanceOf[Int]
    val owner = uid(directory)
    def refuse(why: String) = throw new IOException(s"$directory: $why")
    if ((mode & TypeOfFile) != DirectoryFile) refuse("it is not a directory")
    if (owner != 0 && owner != me) refuse(s"it belongs to user $owner, who could remove leases")
    if ((mode & OthersWrite) != 0 && (mode & Sticky) == 0)
      refuse("others could remove leases: 'chmod +t' mends that")
  }

  private def await(lock: OpenFile, waitMs: Long): Unit = {
    def limit = System.nanoTime + TimeUnit.MILLISECONDS.toNanos(waitMs)
    var holder = Option.empty[FileHolder]
    var until = limit
    while (!lock.flock()) {
      val now = FileHolder.of(directory)
      if (now != holder) {
        holder = now
        until = limit
      }
      if (System.nanoTime > until) throw busy(holder, waitMs)
      Thread.sleep(PollMs)
    }
  }

  private def busy(holder: Option[FileHolder], waitMs: Long) = new UserError(
    s"the leases of this machine, $directory: ${holder.fold("an unknown process")(_.shown)} has kept them " +
      s"locked for ${waitMs / 1000.0} s: have it ended, or start with spark.hearth.neighbours=ignore"
  )
}

object LeaseRegistry {

  /** Names another directory, such as one that containers share. */
  val Variable = "HEARTH_LEASES"

  /** Names the file of an application's lease to those that keep it with the driver ([[join]]). */
  val FileVariable = "HEARTH_LEASE"

  /** An administrator's own; for locks, where there is one for all users; on every Linux. */
  private val Candidates = Vector("/run/hearth", "/run/lock", "/dev/shm")

  private[leases] val Prefix = "hearth-lease-"

  /** See [[LoanRegistry]]. */
  private[leases] val OfferPrefix = "hearth-offer-"
  private[leases] val LoanPrefix = "hearth-loan-"
  private val Kinds = Vector(Prefix, OfferPrefix, LoanPrefix)
  private[leases] val LeaseKind = Kind[Lease](Prefix, Lease.read, _.boot)
  private val Suffix = ".json"
  private val MostLeases = 4096
  private val MostTickets = 1L << 52
  private val LongestLease = 65536
  private val LongestMs = 20000L
  private val PollMs = 20L
  private val LongestMakingMs = 600000L
  private val NoFollow = LinkOption.NOFOLLOW_LINKS

  // inode(7)
  private val TypeOfFile = 0xf000
  private val RegularFile = 0x8000
  private val DirectoryFile = 0x4000
  private val Sticky = 0x200
  private val OthersWrite = 0x12
  private val ReadableByAll = 0x1a4 // 0644

  /** @throws IOException where this machine has no directory for all users */
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

  private def isOf(prefix: String)(file: Path): Boolean = {
    val name = file.getFileName.toString
    name.startsWith(prefix) && name.endsWith(Suffix)
  }

  private def isOurs(file: Path): Boolean =
    Kinds.exists(isOf(_)(file)) || file.getFileName.toString.startsWith(s".$Prefix")

  /** Another process of this user makes a file before it takes a lease ([[Exclusive.takeFor]]). */
  private def isBeingMade(file: Path): Boolean = !Kinds.exists(isOf(_)(file)) &&
    System.currentTimeMillis - Files.getLastModifiedTime(file, NoFollow).toMillis < LongestMakingMs

  private def uid(file: Path): Int =
    Files.getAttribute(file, "unix:uid", NoFollow).asInstanceOf[Int]

  private def me: Int = Files.getAttribute(Path.of("/proc/self"), "unix:uid").asInstanceOf[Int]

  /**
   * Keeps an application's lease while this process lives.
   *
   * @param byte one that no other process of the application locks, above 0
   * @throws IOException where the lease is gone or not this user's
   */
  def join(file: Path, byte: Long): OpenFile = {
    val open = LinuxLocks.toWrite(file)
    val whole = open.attribute("uid") == me &&
      (open.attribute("mode").asInstanceOf[Int] & TypeOfFile) == RegularFile
    if (!whole || !open.lockByte(byte)) {
      open.close()
      throw new IOException(s"$file is not this application's lease")
    }
    open
  }
}

/** Documents of the registry that are alike. @param bootOf on which boot of the machine one was written */
final private[leases] case class Kind[A](
    prefix: String,
    parse: String => Either[String, A],
    bootOf: A => String
)

/** What a file of the registry says that a process holds. */
final private[leases] case class Found[A](
    name: String,
    value: A,
    uid: Int,
    user: String,
    ours: Boolean
)

/** @param problems what could not be believed or read, a sentence each */
final private[leases] case class ReadFiles[A](found: Vector[Found[A]], problems: Vector[String])

/** A lease of this process; it ends when it is closed, or when this process and all that joined have ended. */
final class HeldLease private[leases] (val file: Path, open: OpenFile) extends AutoCloseable {
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

/** Who has locked a file as flock(2) does, from `/proc/locks` (proc(5)). */
final private[leases] case class FileHolder(pid: Long) {
  def shown: String = {
    val process = Path.of(s"/proc/$pid")
    val name = Try(Files.readString(process.resolve("comm")).trim).getOrElse("?")
    val user = Try(Files.getOwner(process).getName).getOrElse("an unknown user")
    s"process $pid (${Lease.printable(name)}) of $user"
  }
}

private[leases] object FileHolder {
  def of(file: Path): Option[FileHolder] = Try {
    val inode = Files.getAttribute(file, "unix:ino").asInstanceOf[Long]
    Files
      .readString(Path.of("/proc/locks"))
      .linesIterator
      .map(_.trim.split("\\s+"))
      .collectFirst {
        case Array(_, "FLOCK", _, "WRITE", pid, where, _*) if where.endsWith(s":$inode") =>
          FileHolder(pid.toLong)
      }
  }.toOption.flatten
}
