package io.hearth.workloads.streaming.server

import java.util.SplittableRandom

/** The random numbers of one event. */
private[server] object EventRandom {

  /** Negative indices are not events: they give what all events of a seed share. */
  def apply(seed: Long, index: Long): SplittableRandom =
    new SplittableRandom(new SplittableRandom(seed).nextLong() + index)
}

/** Points for a streaming k-means: standard normal around one of 8 centres in [-10, 10)^10. */
object Points {
  val Dimensions = 10
  val Clusters = 8

  def line(seed: Long, index: Long): String = {
    val random = EventRandom(seed, index)
    val centre = EventRandom(seed, -1L - random.nextInt(Clusters))
    Decimals.text(Seq.fill(Dimensions)(centre.nextDouble(-10, 10) + random.nextGaussian()))
  }
}

/**
 * Events for regressions: `class target x1 ... x10`, x standard normal. With the weights w of the
 * seed in [-1, 1)^10, the target is w.x with normal noise of 0.1; the class is 1 where w.x with
 * normal noise of 0.5 is positive, else 0.
 */
object Labelled {
  val Dimensions = 10

  def line(seed: Long, index: Long): String = {
    val random = EventRandom(seed, index)
    val shared = EventRandom(seed, -1L)
    val x = Seq.fill(Dimensions)(random.nextGaussian())
    val product = x.map(_ * shared.nextDouble(-1, 1)).sum
    val target = product + 0.1 * random.nextGaussian()
    val label = if (product + 0.5 * random.nextGaussian() > 0) 1 else 0
    s"$label ${Decimals.text(target +: x)}"
  }
}

private object Decimals {

  /** Four decimals each, separated by blanks. */
  def text(values: Seq[Double]): String =
    values.map(value => Math.round(value * 1e4) / 1e4).mkString(" ")
}
