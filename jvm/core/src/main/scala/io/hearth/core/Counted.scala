package io.hearth.core

/** A number with its noun, for sentences: `1 core`, `2 cores`. */
object Counted {
  def apply(number: Long, noun: String): String =
    if (number == 1) s"1 $noun" else s"$number ${noun}s"
}
