package io.hearth.core

/** Foreign text quoted in a message: one line of bounded length. */
object Brief {
  private val Max = 120

  /** `text` where it is short and one line; else its beginning and how long it is. */
  def apply(text: String, max: Int = Max): String = {
    val line = text.map(c => if (c.isControl) ' ' else c)
    if (line.length <= max) line else s"${line.take(max)}... (${text.length} characters)"
  }
}
