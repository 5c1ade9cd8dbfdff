package io.hearth.core.plan

/**
 * How many files a map task writes. Up to 200 partitions that nothing combines, Spark writes a file for
 * each and then joins them; above, it writes one at once.
 */
private[plan] object ShuffleFiles {
  val Key = "spark.shuffle.sort.bypassMergeThreshold"

  /** The least number of partitions at which one file was measured, and took less time or as long. */
  private val OneFile = 32

  val Settings: Map[String, String] = Map(Key -> s"${OneFile - 1}")

  def reason(constraints: UserConstraints): Option[Reason] =
    Option.unless(constraints.conf.contains(Key))(
      Reason(
        "shuffle files",
        s"one for each map task from $OneFile partitions on",
        "Spark writes a file for each partition, up to 200, and joins them, which took longer or as long",
        "hearth: measured on 2 CPUs"
      )
    )
}
