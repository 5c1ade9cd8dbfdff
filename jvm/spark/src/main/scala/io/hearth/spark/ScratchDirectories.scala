package io.hearth.spark

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicReference

import io.hearth.core.UserError
import io.hearth.core.files.OwnFiles

/**
 * Where an application's executors write while they run: one directory below each local directory of
 * Spark's. Only those that [[open]] has claimed are removed at the end.
 *
 * @param roots at least one
 */
final class ScratchDirectories(
    val roots: Vector[Path],
    clearing: Clearing,
    keeping: Bookkeeping,
    remove: Path => Unit
) {
  private val claimed = new AtomicReference(Vector.empty[Path])

  /** @throws UserError naming the one that cannot be used */
  def open(): Unit = roots.foreach { root =>
    try OwnFiles.claim(root)
    catch { case e: IOException => throw ScratchDirectories.unusable(root, e) }
    claimed.updateAndGet(_ :+ root)
    clearing.removeLater(root)
  }

  def close(): Unit = claimed.getAndSet(Vector.empty).foreach(root => keeping.attempt(remove(root)))

  def workDirectory(executorId: String): Path = roots.head.resolve(executorId).resolve("work")
  def temporary(executorId: String): Path = roots.head.resolve(executorId).resolve("tmp")
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
