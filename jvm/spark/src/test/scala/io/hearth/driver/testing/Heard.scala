package io.hearth.driver.testing

import io.hearth.driver.Log

/** A log that keeps what it hears, in order: a word for how loud it is, and the sentence. */
final class Heard extends Log {
  var all: Vector[(String, String)] = Vector.empty

  def of(loudness: String): Vector[String] = all.collect { case (`loudness`, said) => said }

  override def info(sentence: String): Unit = all :+= "info" -> sentence
  override def warn(sentence: String): Unit = all :+= "warn" -> sentence
  override def error(sentence: String): Unit = all :+= "error" -> sentence
  override def fault(sentence: String, cause: Throwable): Unit =
    all :+= "fault" -> s"$sentence: ${cause.getMessage}"
}
