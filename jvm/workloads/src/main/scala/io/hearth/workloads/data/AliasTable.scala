package io.hearth.workloads.data

/**
 * Draws from a discrete distribution with one random number and one look-up (Walker 1977, built as
 * by Vose 1991). Column and threshold use the two halves of the number.
 *
 * @param weights not negative, not all zero; need not add up to one
 */
final class AliasTable(weights: Array[Double]) {
  private val columns = weights.length
  private val table = AliasTable.build(weights)

  def draw(random: Long): Int = {
    val column = (((random >>> 32) * columns) >>> 32).toInt
    val entry = table(column)
    if ((random & 0xffffffffL) < (entry >>> 32)) column else entry.toInt
  }
}

object AliasTable {

  /**
   * Zipf-Mandelbrot: weight 1 / (rank + shift)^exponent, ranks from 1 (Mandelbrot 1953).
   *
   * @param adjust a factor for each rank from 0
   */
  def zipf(
      count: Int,
      exponent: Double = 1.0,
      shift: Double = 0.0,
      adjust: Int => Double = _ => 1.0
  ): AliasTable = new AliasTable(
    Array.tabulate(count)(rank => adjust(rank) / StrictMath.pow(rank + 1 + shift, exponent))
  )

  /** Whole numbers around a log-normal distribution, `median` and `sigma` of the log, 1 to `max`. */
  def logNormal(median: Double, sigma: Double, max: Int): AliasTable = new AliasTable(
    Array.tabulate(max + 1) { value =>
      if (value == 0) 0.0
      else {
        val z = StrictMath.log(value / median) / sigma
        StrictMath.exp(-z * z / 2) / value
      }
    }
  )

  /** For each column: threshold in the upper 32 bits, the other value in the lower. */
  private def build(weights: Array[Double]): Array[Long] = {
    val count = weights.length
    val scale = count / weights.sum
    val share = weights.map(_ * scale)
    val small = new Array[Int](count)
    val large = new Array[Int](count)
    var smalls = 0
    var larges = 0
    for (at <- 0 until count)
      if (share(at) < 1) { small(smalls) = at; smalls += 1 }
      else { large(larges) = at; larges += 1 }
    val table = Array.tabulate(count)(at => entry(1.0, at))
    while (smalls > 0 && larges > 0) {
      smalls -= 1
      val low = small(smalls)
      val high = large(larges - 1)
      table(low) = entry(share(low), high)
      share(high) -= 1 - share(low)
      if (share(high) < 1) {
        larges -= 1
        small(smalls) = high
        smalls += 1
      }
    }
    table
  }

  private def entry(share: Double, other: Int): Long =
    math.min(0xffffffffL, (share * 4294967296.0).toLong) << 32 | other
}
