package io.hearth.workloads.core

import java.util.SplittableRandom

import org.apache.spark.rdd.RDD

import io.hearth.workloads.data.Draws
import io.hearth.workloads.{JobRun, Parameter}

/**
 * Key-value pairs made in memory, cached and counted before timing starts, as in the OSU study (Lu
 * 2017). Pair `i` is a function of the seed and `i` alone.
 */
private object Pairs {

  val parameters: Seq[Parameter] = Seq(
    Parameter.whole("maps", 8, "partitions in which the pairs are made", "480 (Lu 2017)"),
    Parameter.whole("reduces", 8, "partitions after the shuffle", "480 (Lu 2017)"),
    Parameter.whole("pairs", 5000, "pairs of each map", max = Long.MaxValue),
    Parameter.whole("value-bytes", 1000, "bytes of each value", min = 0),
    Parameter
      .whole("keys", Int.MaxValue, "keys are whole numbers below this one", max = Long.MaxValue),
    Parameter.whole("seed", 1, "of keys and values", min = 0, max = Long.MaxValue)
  )

  /** The pairs, in the cache as far as it holds them. */
  def cached(run: JobRun): RDD[(Long, Array[Byte])] = {
    val settings = run.settings
    val maps = settings.int("maps")
    val (each, size) = (settings.long("pairs"), settings.int("value-bytes"))
    val (keys, seed) = (settings.long("keys"), settings.long("seed"))
    val made = run.session.sparkContext.parallelize(0 until maps, maps).flatMap { map =>
      Iterator.iterate(map * each)(_ + 1).takeWhile(_ < (map + 1) * each).map { index =>
        key(seed, index, keys) -> value(seed, index, size)
      }
    }
    made.cache()
    made.count()
    made
  }

  private def key(seed: Long, index: Long, keys: Long): Long =
    (mixed(mixed(seed) + index) >>> 1) % keys

  private def value(seed: Long, index: Long, size: Int): Array[Byte] = {
    val bytes = new Array[Byte](size)
    new SplittableRandom(mixed(seed) ^ index).nextBytes(bytes)
    bytes
  }

  /** A number that differs in half its bits when `number` differs in one (SplitMix64's). */
  def mixed(number: Long): Long = Draws.mix(number + Draws.Golden)

  /** How many partitions of the pairs the cache holds. */
  def cachedPartitions(run: JobRun, pairs: RDD[_]): Int =
    run.session.sparkContext.getRDDStorageInfo
      .find(_.id == pairs.id)
      .map(_.numCachedPartitions)
      .getOrElse(0)
}
