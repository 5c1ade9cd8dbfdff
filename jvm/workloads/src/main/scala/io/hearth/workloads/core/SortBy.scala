package io.hearth.workloads.core

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{Input, Job, JobRun, Json}

/**
 * Sorts key-value pairs by key: a sample for the ranges, then all pairs cross the shuffle (Lu
 * 2017).
 */
object SortBy extends Job {
  val name = "sort-by"
  val family = "core"
  val summary = "key-value pairs in memory, sorted by key"
  val stresses = "the shuffle and the sort of each reduce: memory bandwidth, CPU"
  val published = "480 maps and 480 reduces (Lu 2017)"
  val parameters = Pairs.parameters
  val inputs = Seq.empty[Input]

  def run(run: JobRun): ObjectNode = {
    val pairs = Pairs.cached(run)
    val partitions = run.phase("sort") {
      pairs
        .sortByKey(ascending = true, run.settings.int("reduces"))
        .mapPartitions(sorted => Iterator(Stretch.of(sorted)))
        .collect()
    }
    Json.obj(
      "pairs" -> partitions.map(_.pairs).sum,
      "value_bytes" -> partitions.map(_.valueBytes).sum,
      "partitions" -> partitions.map(_.json),
      "cached_partitions" -> Pairs.cachedPartitions(run, pairs)
    )
  }
}

/**
 * A summary of one sorted partition.
 *
 * @param checksum the sum of each key, mixed, times its place in the partition (from 1), modulo
 *     2^64: it depends on the order of the keys
 */
final private case class Stretch(pairs: Long, valueBytes: Long, checksum: Long) {

  def json: ObjectNode = Json.obj("pairs" -> pairs, "checksum" -> checksum)
}

private object Stretch {

  def of(sorted: Iterator[(Long, Array[Byte])]): Stretch =
    sorted.foldLeft(Stretch(0, 0, 0)) { case (Stretch(pairs, bytes, checksum), (key, value)) =>
      Stretch(pairs + 1, bytes + value.length, checksum + Pairs.mixed(key) * (pairs + 1))
    }
}
