package io.hearth.workloads.core

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{Input, Job, JobRun, Json}

/**
 * Groups key-value pairs by key: all pairs cross the shuffle, nothing is combined before (Lu 2017).
 */
object GroupBy extends Job {
  val name = "group-by"
  val family = "core"
  val summary = "key-value pairs in memory, grouped by key"
  val stresses = "the shuffle: serialisation, fetching, network or memory bandwidth"
  val published = "480 maps and 480 reduces (Lu 2017)"
  val parameters = Pairs.parameters
  val inputs = Seq.empty[Input]

  def run(run: JobRun): ObjectNode = {
    val pairs = Pairs.cached(run)
    val groups = run.phase("group") {
      pairs
        .groupByKey(run.settings.int("reduces"))
        .map { case (key, values) => Groups.of(key, values) }
        .fold(Groups.none)(_ and _)
    }
    Json.obj(
      "groups" -> groups.count,
      "pairs" -> groups.pairs,
      "value_bytes" -> groups.valueBytes,
      "largest_group" -> groups.largest,
      "checksum" -> groups.checksum,
      "cached_partitions" -> Pairs.cachedPartitions(run, pairs)
    )
  }
}

/**
 * A summary of the groups.
 *
 * @param checksum the sum of each key, mixed, times the square of its group's size, modulo 2^64: a
 *     key whose pairs are not all in one group changes it
 */
final private case class Groups(
    count: Long,
    pairs: Long,
    valueBytes: Long,
    largest: Long,
    checksum: Long
) {

  def and(other: Groups): Groups = Groups(
    count + other.count,
    pairs + other.pairs,
    valueBytes + other.valueBytes,
    math.max(largest, other.largest),
    checksum + other.checksum
  )
}

private object Groups {
  val none: Groups = Groups(0, 0, 0, 0, 0)

  def of(key: Long, values: Iterable[Array[Byte]]): Groups = {
    val size = values.size.toLong
    Groups(1, size, values.iterator.map(_.length.toLong).sum, size, Pairs.mixed(key) * size * size)
  }
}
