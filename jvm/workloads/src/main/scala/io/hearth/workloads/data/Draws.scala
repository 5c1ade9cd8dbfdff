package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.UTF_8

/**
 * Random numbers that depend on a seed, a generator's name and a row's number only: SplitMix64
 * (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Implemented here
 * because the JDK does not promise the same numbers from release to release.
 */
final class Draws(key: Long) {
  private var state = key
  private var spare = Double.NaN

  /** Moves to the beginning of a row's own stream. */
  def seat(row: Long): Unit = {
    state = Draws.mix(key ^ Draws.mix(row + Draws.Golden))
    spare = Double.NaN
  }

  def long(): Long = {
    state += Draws.Golden
    Draws.mix(state)
  }

  /** Uniform in 0 until `bound`; off by less than bound / 2^32. */
  def below(bound: Int): Int = (((long() >>> 32) * bound) >>> 32).toInt

  /** Uniform in [0, 1), in steps of 2^-53. */
  def real(): Double = (long() >>> 11) * Draws.Step

  /**
   * Standard normal, by Marsaglia's polar method; StrictMath, so that every machine draws the same.
   */
  def normal(): Double =
    if (!spare.isNaN) {
      val value = spare
      spare = Double.NaN
      value
    } else {
      var x = 0.0
      var y = 0.0
      var square = 0.0
      while (square >= 1.0 || square == 0.0) {
        x = 2 * real() - 1
        y = 2 * real() - 1
        square = x * x + y * y
      }
      val factor = math.sqrt(-2 * StrictMath.log(square) / square)
      spare = y * factor
      x * factor
    }
}

object Draws {
  val Golden = 0x9e3779b97f4a7c15L
  private val Step = 1.0 / (1L << 53)

  def of(seed: Long, name: String): Draws =
    new Draws(name.getBytes(UTF_8).foldLeft(mix(seed + Golden))((key, byte) => mix(key ^ byte)))

  /** A bijection of 64 bits in which every bit of the input moves half of the output's. */
  def mix(value: Long): Long = {
    val first = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L
    val second = (first ^ (first >>> 27)) * 0x94d049bb133111ebL
    second ^ (second >>> 31)
  }
}
