package io.hearth.core.launch

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Writes a JVM's expanded class path the way a person would: `/opt/spark/jars/ *` for all jars of a directory. */
object ClassPath {

  /**
   * Folds each run of jars that is exactly a directory's whole content into one wildcard. The JVM expands
   * it in the same directory order again, which a class-data archive relies on.
   *
   * @param entries the class path, one entry each
   * @param jarsIn all jars of a directory
   */
  def collapse(entries: Vector[String], jarsIn: Path => Set[Path]): Vector[String] =
    if (entries.isEmpty) entries
    else {
      val directory = Option(Path.of(entries.head).getParent).filter(_ => isJar(entries.head))
      val (run, rest) = directory match {
        case Some(dir) => entries.span(e => isJar(e) && Path.of(e).getParent == dir)
        case None => entries.splitAt(1)
      }
      val folded = directory match {
        case Some(dir) if run.size > 1 && run.map(Path.of(_)).toSet == jarsIn(dir) =>
          Vector(s"$dir/*")
        case _ => run
      }
      folded ++ collapse(rest, jarsIn)
    }

  def jarsOf(directory: Path): Set[Path] =
    Using.resource(Files.list(directory))(_.iterator.asScala.filter(p => isJar(p.toString)).toSet)

  private def isJar(entry: String): Boolean = entry.endsWith(".jar") || entry.endsWith(".JAR")
}
