package io.hearth.sql

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ValidateRequirements
import org.apache.spark.sql.execution.numa.QueryFacts
import org.apache.spark.sql.internal.SQLConf

import io.hearth.core.plan.{Engine, HearthKeys}

/**
 * Gives the shuffles that Spark itself adds to a plan as many partitions as their data need.
 *
 * Shuffles that the same stage reads get one number, as joins must find equal keys together.
 * A stage that has been made already, a number that the user asked for, and a shuffle of unknown
 * size keep theirs. Adaptive execution applies this to the plan at first, and again to what is left
 * of it when a stage has run, whose real size then counts.
 */
final private[sql] class SizeShuffles(sc: SparkContext) extends Rule[SparkPlan] {
  private val settings = sc.getConf
  private val on =
    settings.getBoolean(HearthKeys.PartitionsByQuery.name, sc.master.startsWith("local-numa")) &&
      Engine.of(settings.getOption).forall(_.sized)

  def apply(plan: SparkPlan): SparkPlan =
    if (!on || isUsers(conf)) plan
    else
      QueryFacts.tasksAtOnce(sc).fold(plan) { slots =>
        val sized = new Sizing(conf, slots).sized(plan)
        if (sized.fastEquals(plan) || ValidateRequirements.validate(sized)) sized else plan
      }

  /** Whether the number is the user's rather than Spark's or the plan's, or is not to be lowered. */
  private def isUsers(session: SQLConf): Boolean =
    !session.coalesceShufflePartitionsEnabled || session.contains(
      SQLConf.COALESCE_PARTITIONS_INITIAL_PARTITION_NUM.key
    ) ||
      session.contains(SQLConf.SHUFFLE_PARTITIONS.key) &&
      !settings.getOption(HearthKeys.PlannedPartitions).contains(s"${session.numShufflePartitions}")
}
