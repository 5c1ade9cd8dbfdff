package io.hearth.core.plan

import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.Assertions

/**
 * Properties over generated values that are the same in every run, so that a test which passed here passes
 * elsewhere. `HEARTH_PROPERTIES` is how many are tried (more than by default where there is time),
 * `HEARTH_SEED` the first seed: another one looks for what nobody has seen yet.
 */
trait Seeded { this: Assertions =>
  private val first = Seeded.number("HEARTH_SEED", 1)
  private val seeds = first until first + Seeded.count

  /** Sizes of collections grow with the seed, up to this. */
  private val LargestSize = 200

  def forAll[A](gen: Gen[A])(holds: A => Any): Unit = seeds.foreach { seed =>
    val size = (seed - first) * LargestSize / seeds.size
    val value = gen.pureApply(Gen.Parameters.default.withSize(size), Seed(seed.toLong))
    withClue(s"HEARTH_SEED=$seed HEARTH_PROPERTIES=1 , size $size: $value: ")(holds(value))
  }

  def forAll[A, B](one: Gen[A], other: Gen[B])(holds: (A, B) => Any): Unit =
    forAll(Gen.zip(one, other))(holds.tupled)

  def forAll[A, B, C](one: Gen[A], other: Gen[B], third: Gen[C])(holds: (A, B, C) => Any): Unit =
    forAll(Gen.zip(one, other, third))(holds.tupled)
}

object Seeded {
  val count: Int = number("HEARTH_PROPERTIES", 100)

  private def number(variable: String, usual: Int) = sys.env.get(variable).fold(usual)(_.toInt)
}
