package io.hearth.core.leases

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.util.{Try, Using}

/**
 * The lock of the directory of all leases, as flock(2) takes it. Whoever can read the directory can take the
 * lock and keep it, so it is waited for within one limit, however often it changes hands meanwhile.
 */
final private[leases] class DirectoryLock(directory: Path) {
  import DirectoryLock._

  /**
   * Does something while this process has the lock.
   *
   * @param limitMs how long to wait for it in all
   * @param say is told once, after [[SayAfterMs]], who has the lock
   * @return who had it, where it was not free within the limit
   * @throws java.io.IOException
   */
  def hold[A](limitMs: Long, say: String => Unit)(work: => A): Either[String, A] =
    Using.resource(LinuxLocks.directory(directory)) { lock =>
      val holder =
        try await(lock, limitMs, say)
        catch { case e: IOException => throw new IOException(s"$directory: ${e.getMessage}", e) }
      holder.toLeft(()).map(_ => work)
    }

  private def await(lock: OpenFile, limitMs: Long, say: String => Unit): Option[String] = {
    val start = System.nanoTime
    var holders = Vector.empty[FileHolder]
    var said = false
    var locked = lock.flock()
    while (!locked && msSince(start) < limitMs) {
      holders = (holders ++ FileHolder.of(directory)).distinct.take(Named)
      if (!said && msSince(start) >= SayAfterMs) {
        said = true
        say(s"Waiting to take a lease: ${lockedBy(holders, msSince(start))}")
      }
      Thread.sleep(PollMs)
      locked = lock.flock()
    }
    Option.when(!locked)(lockedBy(holders, limitMs))
  }

  private def lockedBy(holders: Vector[FileHolder], ms: Long): String = {
    val who =
      if (holders.isEmpty) "a process that cannot be seen here"
      else holders.map(_.shown).mkString(" and ")
    f"$who kept $directory locked for ${ms / 1e3}%.1f s"
  }
}

private object DirectoryLock {
  private val PollMs = 20L
  private val SayAfterMs = 3000L
  private val Named = 3

  private def msSince(nanos: Long): Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime - nanos)
}

/** Who has locked a file as flock(2) does, from `/proc/locks` (proc(5)). */
final private[leases] case class FileHolder(pid: Long) {
  def shown: String = {
    val process = Path.of(s"/proc/$pid")
    val name = Try(Files.readString(process.resolve("comm")).trim).getOrElse("?")
    val user = Try(Files.getOwner(process).getName).getOrElse("an unknown user")
    s"process $pid (${RegistryDocument.printable(name)}) of ${RegistryDocument.printable(user)}"
  }
}

private[leases] object FileHolder {
  def of(file: Path): Option[FileHolder] = Try {
    val where = deviceAndInode(file)
    Files
      .readString(Path.of("/proc/locks"))
      .linesIterator
      .map(_.trim.split("\\s+"))
      .collectFirst { case Array(_, "FLOCK", _, "WRITE", pid, `where`, _*) => pid.toLong }
      .filter(_ > 0) // 0: of another PID namespace
      .map(FileHolder(_))
  }.toOption.flatten

  /** Device and inode as `/proc/locks` writes them; the device number is encoded as in makedev(3). */
  private def deviceAndInode(file: Path): String = {
    val attributes = Files.readAttributes(file, "unix:dev,ino")
    val device = attributes.get("dev").asInstanceOf[Long]
    val major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfffL)
    val minor = (device & 0xff) | (device >> 12 & ~0xffL)
    f"$major%02x:$minor%02x:${attributes.get("ino")}"
  }
}
