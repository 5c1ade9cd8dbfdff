package io.hearth.core.topology

import scala.collection.mutable

/** Collects, while one machine is read, what was contradictory; each sentence once, in order. */
final private[topology] class Warnings {
  private val sentences = mutable.LinkedHashSet.empty[String]

  def add(sentence: String): Unit = sentences += sentence
  def toVector: Vector[String] = sentences.toVector
}
