package io.hearth.workloads.data

import io.hearth.workloads.{Parameter, Settings}

/** Edges of a power-law graph. */
object Graph extends Generator {
  val name = "graph"
  val version = 1
  val summary = "edges of a directed power-law graph: source, a tab, destination"
  val distribution =
    "R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with Graph500's a = 0.57, b = 0.19, c = 0.19, over as " +
      "many vertices as give the edge factor, those beyond redrawn; numbers shuffled; loops and " +
      "double edges stay, and as in every R-MAT graph some vertices have no edge"
  override val parameters: Seq[Parameter] = Seq(
    Parameter.real(
      "edge-factor",
      14.2,
      "edges for each vertex",
      "14.2: LiveJournal (SNAP)",
      "a number from 0.1 to 10000",
      factor => factor >= 0.1 && factor <= 10000
    )
  )

  def vertices(settings: Settings, edges: Long): Long =
    math.max(2, math.round(edges / settings.real("edge-factor")))

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("txt", new RmatEdges(vertices(settings, numbers), seed)))

  override def facts: (Settings, Long) => Map[String, Long] =
    (settings, edges) => Map("vertices" -> vertices(settings, edges))
}

final class RmatEdges(vertices: Long, seed: Long) extends RowWriter {
  private val draws = Draws.of(seed, Graph.name)
  private val shuffle = new Shuffle(vertices, seed)
  private val levels = 64 - java.lang.Long.numberOfLeadingZeros(vertices - 1)
  private var source = 0L
  private var destination = 0L

  def write(number: Long, to: LineBuffer): Unit = {
    draws.seat(number)
    descend()
    while (source >= vertices || destination >= vertices) descend()
    to.putNumber(shuffle(source))
    to.put('\t')
    to.putNumber(shuffle(destination))
    to.put('\n')
  }

  /** One quadrant for each level, four levels from each random number. */
  private def descend(): Unit = {
    source = 0
    destination = 0
    var bits = 0L
    var level = 0
    while (level < levels) {
      if (level % 4 == 0) bits = draws.long()
      val chance = (bits & 0xffff).toInt
      bits >>>= 16
      val lower = chance >= RmatEdges.UpperHalf
      val right =
        (chance >= RmatEdges.UpperLeft && !lower) || chance >= RmatEdges.LowerLeft
      source = source << 1 | (if (lower) 1 else 0)
      destination = destination << 1 | (if (right) 1 else 0)
      level += 1
    }
  }
}

object RmatEdges {
  // Bounds of a, a + b and a + b + c, in 65536ths.
  private val UpperLeft = (0.57 * 65536).toInt
  private val UpperHalf = (0.76 * 65536).toInt
  private val LowerLeft = (0.95 * 65536).toInt
}

/**
 * A permutation of 0 until `count` without a table: a bijection of the next power of two (odd
 * factors and shifts), walked until it falls below `count` (Black, Rogaway 2002: cycle walking).
 */
final class Shuffle(count: Long, seed: Long) {
  private val bits = math.max(2, 64 - java.lang.Long.numberOfLeadingZeros(count - 1))
  private val mask = (1L << bits) - 1
  private val draws = Draws.of(seed, "shuffle")
  private val rounds = Array.fill(3)((draws.long() | 1, draws.long()))

  def apply(value: Long): Long = {
    var at = step(value)
    while (at >= count) at = step(at)
    at
  }

  private def step(value: Long): Long = {
    var at = value
    var round = 0
    while (round < rounds.length) {
      at = (at * rounds(round)._1 + rounds(round)._2) & mask
      at ^= at >>> ((bits + 1) / 2)
      round += 1
    }
    at
  }
}
