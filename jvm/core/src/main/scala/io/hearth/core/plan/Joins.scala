package io.hearth.core.plan

/** What a plan says of the joins of shuffled sides (the rule: io.hearth.sql.JoinByHash). */
private[plan] object Joins {

  /** Spark's own choices between a hash table and sorting. */
  private val Sparks =
    Set(
      "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold",
      "spark.sql.join.preferSortMergeJoin"
    )

  val Keys: Set[String] = Sparks + HearthKeys.JoinsByHash

  /**
   * None under a native engine, whose joins are its own, or where the user has chosen. `hearth submit`
   * gives one JVM the rule where a plan has this reason.
   */
  def reason(constraints: UserConstraints): Option[Reason] = {
    val conf = constraints.conf
    val on = conf.get(HearthKeys.JoinsByHash).forall(_.trim.equalsIgnoreCase("true"))
    Option.when(on && constraints.engine.isEmpty && !Sparks.exists(conf.contains))(
      Reason(
        "joins",
        "by hash where the table fits",
        "Spark sorts both sides of a join that it does not broadcast; a hash table of at most a " +
          s"fourth of a task's memory needs no sort (${HearthKeys.JoinsByHash})",
        "hearth: measured on 2 CPUs"
      )
    )
  }
}
