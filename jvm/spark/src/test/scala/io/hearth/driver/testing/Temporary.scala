package io.hearth.driver.testing

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Directories that are gone when a test has used them. */
object Temporary {

  def directory[A](use: Path => A): A = {
    val directory = Files.createTempDirectory("hearth-test").toRealPath()
    try use(directory)
    finally delete(directory)
  }

  /** With all that is in it, where it is there. */
  def delete(path: Path): Unit = if (Files.exists(path)) {
    val all = Using.resource(Files.walk(path))(_.iterator.asScala.toVector)
    all.reverse.foreach(Files.delete)
  }
}
