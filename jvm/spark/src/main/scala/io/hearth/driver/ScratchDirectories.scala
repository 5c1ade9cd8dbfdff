package io.hearth.driver

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.UserError
import io.hearth.core.files.OwnFiles
import io.hearth.core.leases.DirectoryUse

/**
 * Where an application's executors write while they run: one directory below each local directory of
 * Spark's. Only those that [[open]] has claimed are removed at the end.
 *
 * A library that brings native code writes it to the temporary directory of its JVM and loads it from there
 * (JNA, zstd, snappy, lz4), which a file system that is mounted noexec does not allow.
 *
 * @param roots at least one
 * @param spare for temporary files, where all roots are on such file systems
 * @param sockets for [[PythonSockets]]
 * @param noexec where a file system begins from which no program may be run, for a path on one
 */
final class ScratchDirectories(
    val roots: Vector[Path],
    spare: Path,
    sockets: Option[Path],
    noexec: Path => Option[Path],
    reaper: Reaper,
    bestEffort: BestEffort,
    remove: Path => Unit
) {
  private lazy val runnable = (roots :+ spare).find(noexec(_).isEmpty)

  /** All that are made. */
  def all: Vector[Path] = (roots ++ runnable ++ sockets).distinct

  /** What will not work, and what to do. */
  def warning: Option[String] = Option.when(runnable.isEmpty)(
    s"Executors' temporary files are in ${roots.head}, which is mounted noexec (${noexec(roots.head).get}): " +
      "libraries that bring native code, such as zstd and snappy, cannot load it; let spark.local.dir name a " +
      "directory from which programs may be run, or -Djava.io.tmpdir in spark.executor.extraJavaOptions"
  )

  private val claimed = new AtomicReference(Vector.empty[(Path, AutoCloseable)])

  /**
   * What an application that was killed has left there is used again.
   *
   * Throws UserError naming the one that cannot be used, or that another application uses
   */
  def open(): Unit = all.foreach { root =>
    try OwnFiles.claim(root)
    catch { case e: IOException => throw ScratchDirectories.unusable(root, e) }
    val use = DirectoryUse.take(root).fold(who => throw inUse(root, who), identity)
    claimed.updateAndGet(_ :+ (root -> use))
    reaper.removeLater(root)
  }

  def close(): Unit = synchronized {
    claimed.getAndSet(Vector.empty).foreach { case (root, use) =>
      bestEffort.attempt(remove(root))
      use.close()
    }
  }

  /** Removes what an executor wrote, but for its logs. */
  def removeOf(executorId: String): Unit = synchronized {
    for ((root, _) <- claimed.get; folder = root.resolve(executorId) if Files.isDirectory(folder))
      bestEffort.attempt {
        val files = Using.resource(Files.list(folder))(_.iterator.asScala.toVector)
        files.filter(_ != logs(executorId)).foreach(remove)
        if (!Files.exists(logs(executorId))) Files.deleteIfExists(folder)
      }
  }

  private def inUse(root: Path, who: String) = new UserError(
    s"spark.app.id: an application with this id uses $root already: $who; choose another, or leave it out"
  )

  def workDirectory(executorId: String): Path = roots.head.resolve(executorId).resolve("work")
  def temporary(executorId: String): Path =
    runnable.getOrElse(roots.head).resolve(executorId).resolve("tmp")
  def logs(executorId: String): Path = roots.head.resolve(executorId).resolve("logs")
  def localDirs(executorId: String): Vector[Path] = roots.map(_.resolve(executorId))

  def createFor(executorId: String): Unit =
    (workDirectory(executorId) +: temporary(executorId) +: localDirs(executorId))
      .foreach(Files.createDirectories(_))
}

object ScratchDirectories {
  def unusable(directory: Path, e: IOException): UserError = new UserError(
    s"spark.local.dir: $directory cannot be used: ${e.getMessage}; set a directory of yours with free space",
    Some(e)
  )
}
