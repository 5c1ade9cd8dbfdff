package io.hearth.core.plan

import io.hearth.core.Counted

/** The partitions of a shuffle. */
object ShufflePartitions {
  val Key = "spark.sql.shuffle.partitions"

  /** Spark's own number (SQLConf.SHUFFLE_PARTITIONS). */
  val Sparks = 200

  /**
   * A multiple of the tasks that run at once, so that the last wave is full, one for each 128 MB of
   * input. Where the input is unknown, two waves if that is more than Spark's own number, else
   * nothing: too few partitions spill, and adaptive execution merges those that are small.
   *
   * For RDDs nothing is derived: `spark.default.parallelism` would change the number of partitions that
   * `reduceByKey` and its like take from their parents (RDD.Partitioner.defaultPartitioner).
   *
   * @param atOnce tasks that run at the same time
   * @return none leaves Spark's own number
   */
  private[plan] def of(
      atOnce: Int,
      workload: Workload,
      constraints: UserConstraints
  ): Decided[Option[Int]] = {
    val waves = rounded(BigInt(2) * atOnce, atOnce)
    val tasksAtOnce =
      s"${Counted(atOnce, "task")} that ${if (atOnce == 1) "runs" else "run"} at once"
    (constraints.conf.get(Key), workload.inputBytes) match {
      case (Some(users), _) => Decided(None, reason(users, Reasons.FixedByUser, "user"))
      case (None, Some(bytes)) =>
        val tasks =
          (BigInt(bytes) + DerivedSettings.PartitionBytes - 1) / DerivedSettings.PartitionBytes
        set(
          rounded(tasks, atOnce),
          s"one for each 128 MB of input, as a multiple of the $tasksAtOnce, so " +
            s"that the last wave is full; $Fewer"
        )
      case (None, None) if waves > Sparks =>
        set(
          waves,
          s"two for each of the $tasksAtOnce: Spark's own number of $Sparks is less; $Fewer"
        )
      case (None, None) =>
        val because =
          s"the input is unknown, and Spark's own number of $Sparks is at least two for " +
            s"each of the $tasksAtOnce; $Fewer"
        Decided(None, reason(s"at most $Sparks", because, Guide))
    }
  }

  private val Fewer = "a query that reads little takes fewer (spark.hearth.sql.partitionsByQuery)"

  private val Guide = "Spark: SQL performance tuning guide"

  private def set(number: Int, because: String) =
    Decided(Option(number), reason(s"$number", because, Guide))

  private def reason(value: String, because: String, source: String) =
    Reason("shuffle partitions", value, because, source)

  private def rounded(tasks: BigInt, atOnce: Int): Int = {
    val waves = ((tasks + atOnce - 1) / atOnce).max(1)
    // Spark reads it as an Int.
    (waves.min(Int.MaxValue / atOnce) * atOnce).toInt
  }
}
