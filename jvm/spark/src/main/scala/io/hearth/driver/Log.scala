package io.hearth.driver

/** Where the parts of an application say what they do: the driver's log. */
trait Log {
  def info(sentence: String): Unit
  def warn(sentence: String): Unit
  def error(sentence: String): Unit

  /** Something of hearth's own failed where nobody waits for it. */
  def fault(sentence: String, cause: Throwable): Unit
}
