package io.hearth.core

/** Text for a log or a terminal. */
object Terminal {

  /**
   * Control characters (ECMA-48, C0 and C1) and bidirectional overrides as escapes, so that a name
   * or another program's output cannot send commands to a terminal; line breaks and tabs stay.
   */
  def escaped(text: String): String = text.flatMap { c =>
    if (control(c)) (if (c < 256) f"\\x${c.toInt}%02x" else f"\\u${c.toInt}%04x") else c.toString
  }

  private def control(c: Char): Boolean =
    (Character.isISOControl(c) && c != '\n' && c != '\t') || c == '\u061c' ||
      (c >= '\u200e' && c <= '\u200f') || (c >= '\u2028' && c <= '\u202e') ||
      (c >= '\u2066' && c <= '\u2069')

  /** Rows of cells under each other, the header first. */
  def table(rows: Vector[Vector[String]]): Vector[String] = {
    val widths = rows.transpose.map(_.map(_.length).max)
    rows.map(
      _.zip(widths)
        .map { case (cell, width) => cell.padTo(width, ' ') }
        .mkString("  ")
        .stripTrailing
    )
  }
}
