package io.hearth.core.plan

import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.Assertions

/**
 * Properties over generated values: the same ones in each `make test`, so that a change fails for its own
 * faults alone; `make fuzz` draws `HEARTH_SEED` anew and tries many more. A failure names the seed that makes
 * its value again. `HEARTH_PROPERTIES` is how many are tried.
 */
trait Seeded { this: Assertions =>
  private val seeds = Seeded.first until Seeded.first + Seeded.count

  /** Sizes of collections follow from the seed, and are below this. */
  private val LargestSize = 200

  def forAll[A](gen: Gen[A])(holds: A => Any): Unit = seeds.foreach { seed =>
    val size = math.floorMod(seed * 37, LargestSize)
    val value = gen.pureApply(Gen.Parameters.default.withSize(size), Seed(seed.toLong))
    withClue(s"HEARTH_SEED=$seed HEARTH_PROPERTIES=1 makes this again: $value: ")(holds(value))
  }

  def forAll[A, B](one: Gen[A], other: Gen[B])(holds: (A, B) => Any): Unit =
    forAll(Gen.zip(one, other))(holds.tupled)

  def forAll[A, B, C](one: Gen[A], other: Gen[B], third: Gen[C])(holds: (A, B, C) => Any): Unit =
    forAll(Gen.zip(one, other, third))(holds.tupled)
}

object Seeded {
  val count: Int = number("HEARTH_PROPERTIES", 30)
  val first: Int = number("HEARTH_SEED", 1)

  private def number(variable: String, usual: => Int) = sys.env.get(variable).fold(usual)(_.toInt)
}
