package io.hearth.workloads.streaming

import org.apache.datasketches.hll.{HllSketch, Union}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.functions.{hll_sketch_agg, hll_sketch_estimate, lit}
import org.apache.spark.streaming.dstream.DStream
import org.apache.spark.util.sketch.CountMinSketch

import io.hearth.workloads.{Json, Parameter}

/**
 * Answer, per batch: `total`, the events so far, and `top`, the pairs [user, estimate] of the users
 * with the highest estimated counts so far (the first in alphabetical order where they are equal),
 * by Spark's own count-min sketch: no estimate is below the count, and with the given confidence
 * each is above it by at most `epsilon x total` (Cormode, Muthukrishnan 2005). Only a user of the
 * batch can rise, so the candidates are those and the former top. The sketch is the driver's
 * state, which Structured Streaming cannot keep: DStreams only.
 */
object CountMinTopK extends StreamJob("streaming-count-min-top-k", "clicks") {
  val summary = "the most active users since the start, by a count-min sketch"
  val stresses = "hashing; a sketch from each partition to the driver in each batch"
  override val own: Seq[Parameter] = Seq(
    Parameter.whole("top", 10, "users to report", "10"),
    Parameter.real("epsilon", 0.001, "relative error of the sketch"),
    Parameter.real("confidence", 0.999, "probability that an estimate stays within that error")
  )
  private val hashSeed = 1

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val (epsilon, confidence) =
      (settings.values.real("epsilon"), settings.values.real("confidence"))
    val sketch = CountMinSketch.create(epsilon, confidence, hashSeed)
    var top = Seq.empty[(String, Long)]
    answers.keep(lines.map(Click.of(_).user)) { users =>
      val batch = users.mapPartitions(summarise(_, epsilon, confidence)).collect()
      batch.foreach { case (bytes, _) => sketch.mergeInPlace(CountMinSketch.readFrom(bytes)) }
      val candidates = (batch.flatMap(_._2) ++ top.map(_._1)).distinct
      top = candidates
        .map(user => user -> sketch.estimateCount(user))
        .sortBy { case (user, estimate) => (-estimate, user) }
        .take(settings.values.int("top"))
        .toSeq
      val pairs = top.map { case (user, estimate) => Seq[Any](user, estimate) }
      Json.obj("total" -> sketch.totalCount, "top" -> pairs)
    }
  }

  /** The sketch of a partition, and its users. */
  private def summarise(
      users: Iterator[String],
      epsilon: Double,
      confidence: Double
  ): Iterator[(Array[Byte], Set[String])] = {
    val sketch = CountMinSketch.create(epsilon, confidence, hashSeed)
    val seen = users.map { user =>
      sketch.addString(user)
      user
    }.toSet
    Iterator.single(sketch.toByteArray -> seen)
  }
}

/**
 * Answer, per batch: `users`, the estimated number of distinct users of the batch; DStream also
 * `users_so_far`, since the start. By the HyperLogLog sketch of Apache DataSketches with 2^lg-k
 * registers; standard error of a union 1.04 / sqrt(2^lg-k) (Flajolet et al. 2007).
 */
object HllUniqueUsers extends StreamJob("streaming-hll-unique-users", "clicks") {
  val summary = "how many different users there were, by HyperLogLog"
  val stresses = "hashing; a sketch from each partition to the driver in each batch"
  override val own: Seq[Parameter] = Seq(
    Parameter.whole("lg-k", 12, "binary logarithm of the number of registers", min = 4, max = 21)
  )

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val lgK = settings.values.int("lg-k")
    val soFar = new Union(lgK)
    answers.keep(lines.map(Click.of(_).user)) { users =>
      val batch = new Union(lgK)
      sketches(users, lgK).foreach { bytes =>
        batch.update(HllSketch.heapify(bytes))
        soFar.update(HllSketch.heapify(bytes))
      }
      Json.obj("users" -> batch.getEstimate, "users_so_far" -> soFar.getEstimate)
    }
  }

  private def sketches(users: RDD[String], lgK: Int): Array[Array[Byte]] =
    users
      .mapPartitions { part =>
        val sketch = new HllSketch(lgK)
        part.foreach(user => sketch.update(user))
        Iterator.single(sketch.toCompactByteArray)
      }
      .collect()

  override val structured: Option[StreamSettings => StructuredQuery] = Some(settings =>
    StructuredQuery.ofBatches(Click.keyed(_, Click.User)) { batch =>
      val sketch = hll_sketch_agg(batch("key"), lit(settings.values.int("lg-k")))
      Json.obj("users" -> batch.agg(hll_sketch_estimate(sketch)).head().getLong(0))
    }
  )
}
