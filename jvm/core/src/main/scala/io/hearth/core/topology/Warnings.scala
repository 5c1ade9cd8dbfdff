package io.hearth.core.topology

import scala.collection.mutable

import io.hearth.core.Brief

/**
 * Collects, while one machine is read, what was contradictory; each sentence once, in order, up to
 * a limit.
 */
final private[topology] class Warnings {
  private val sentences = mutable.LinkedHashSet.empty[String]
  private var more = 0

  def add(sentence: String): Unit = {
    val brief = Brief(sentence, Warnings.MaxChars)
    if (sentences.size < Warnings.Max) sentences += brief
    else if (!sentences(brief)) more += 1
  }

  def toVector: Vector[String] =
    sentences.toVector ++ Option.when(more > 0)(
      s"$more more warnings of this machine are not shown"
    )
}

private object Warnings {
  private val Max = 50
  private val MaxChars = 500
}
