package io.hearth.core.plan

/** What an application starts with under `hearth submit`, beside the plan's own settings. */
object LaunchSettings {
  private val Extensions = "spark.sql.extensions"
  private val SizesShuffles = "io.hearth.sql.QuerySizedShuffles"

  /** @param users the user's settings */
  def of(plan: Plan, users: Map[String, String]): Map[String, String] =
    if (waits(plan)) Map(HearthKeys.WhenFull.name -> "wait")
    else if (plan.mode == PlanMode.Native) sizedByQuery(plan, users)
    else beforeAnEngine(users)

  /** Whether hearth's own scheduler is needed though the plan is one JVM: it takes the lease then, as for any other plan. */
  def own(plan: Plan, users: Map[String, String]): Boolean =
    waits(plan) || (plan.mode == PlanMode.Native && HearthKeys.Width.in(
      users.get
    ) == HearthKeys.Adaptive)

  /** Whether one JVM is to wait until others have given back what it needs: its driver then plans again. */
  def waits(plan: Plan): Boolean =
    plan.mode == PlanMode.Native && plan.reasons.exists(_.decision == Coexistence.Waiting)

  /** What lets plain Spark size each query's shuffles, unless the user sets their number or asks for Spark's. */
  private def sizedByQuery(plan: Plan, users: Map[String, String]): Map[String, String] =
    if (users.contains(ShufflePartitions.Key) || !isOn(users)) Map.empty
    else {
      val planned = plan.conf.get(ShufflePartitions.Key).map(HearthKeys.PlannedPartitions -> _)
      Map(HearthKeys.PartitionsByQuery.name -> "true") ++ planned ++ beforeAnEngine(users)
    }

  /** Names the rule before the user's extensions: an engine that puts its own behind them would replace the shuffles. */
  private def beforeAnEngine(users: Map[String, String]): Map[String, String] = {
    val named = users.get(Extensions).toVector.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    val first = Engine.of(users.get).exists(_.sized) && !named.contains(SizesShuffles)
    if (first && isOn(users)) Map(Extensions -> (SizesShuffles +: named).mkString(","))
    else Map.empty
  }

  private def isOn(users: Map[String, String]): Boolean =
    users.get(HearthKeys.PartitionsByQuery.name).forall(_.trim.toLowerCase == "true")
}
