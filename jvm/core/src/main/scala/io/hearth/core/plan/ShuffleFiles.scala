package io.hearth.core.plan

import java.util.Locale

/**
 * How many files a map task writes. Up to 200 partitions that nothing combines, Spark writes a file for
 * each and then joins them; above, it writes one at once.
 */
private[plan] object ShuffleFiles {
  val Key = "spark.shuffle.sort.bypassMergeThreshold"

  /** The least number of partitions at which one file was measured, and took less time or as long. */
  private val OneFile = 32

  /** Shuffle managers whose map tasks write as Spark's do; those of others read the key too. */
  private val Alike = Set("sort", "tungsten-sort") ++
    Set("sort.Sort", "numa.Numa", "wire.Wire").map(n =>
      s"org.apache.spark.shuffle.${n}ShuffleManager"
    )

  /** Whether blocks go over hearth's wire, which has memory of its own. */
  def onWire(conf: Map[String, String]): Boolean = conf
    .get(Engine.ShuffleManagerKey)
    .exists(_.trim == "org.apache.spark.shuffle.wire.WireShuffleManager")

  /** None under a native engine or another's shuffle manager, which nobody has measured. */
  def settings(constraints: UserConstraints): Map[String, String] =
    if (applies(constraints)) Map(Key -> s"${OneFile - 1}") else Map.empty

  private def applies(constraints: UserConstraints) =
    constraints.engine.isEmpty && constraints.conf
      .get(Engine.ShuffleManagerKey)
      .forall(name => Alike.contains(name) || Alike.contains(name.toLowerCase(Locale.ROOT)))

  def reason(constraints: UserConstraints): Option[Reason] =
    Option.when(applies(constraints) && !constraints.conf.contains(Key))(
      Reason(
        "shuffle files",
        s"one for each map task from $OneFile partitions on",
        "Spark writes a file for each partition, up to 200, and then joins them, which was never faster",
        "hearth: measured on 2 CPUs"
      )
    )
}
