package io.hearth.driver

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.hearth.core.files.OwnFiles

/**
 * Where every executor of this application on this machine keeps its blocks, in files, so that one can read
 * another's shuffle output from the disk even after the other is gone.
 *
 * @param executors a directory of the application's own, `ID/local-dirs` in it: one directory a line, in Spark's
 *                  order
 */
final class LocalDirsRegistry(executors: Path) {
  private val known = new ConcurrentHashMap[String, Array[String]]()

  /**
   * Makes the directories of an executor known to all others; readable at once or not at all.
   *
   * @throws java.io.IOException where it cannot be written; the others then fetch over a socket
   */
  def publish(executorId: String, localDirs: Seq[String]): Unit = {
    val file = fileOf(executorId)
    Files.createDirectories(file.getParent)
    OwnFiles.write(file, localDirs.mkString("", "\n", "\n"))
  }

  /**
   * @return absent for an executor that has published nothing, as one of another machine, and where what it
   *         published cannot be read
   */
  def dirsOf(executorId: String): Option[Array[String]] =
    Option(known.get(executorId)).orElse {
      val read = Try(Files.readAllLines(fileOf(executorId)).asScala.toArray).toOption
      read.filter(_.nonEmpty).map { dirs =>
        known.put(executorId, dirs)
        dirs
      }
    }

  /** Every executor that has been asked for and found. */
  def all: Map[String, Array[String]] = known.asScala.toMap

  private def fileOf(executorId: String): Path = executors.resolve(executorId).resolve("local-dirs")
}
