package io.hearth.sql

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.StaticSQLConf

import io.hearth.core.plan.HearthKeys

/**
 * Adds hearth's rules to adaptive execution: [[SizeShuffles]], which has given this class the name
 * that users may have in their settings, and [[JoinByHash]].
 *
 * Spark has one number of partitions for all queries (200), which is paid before adaptive execution
 * can merge what is small: each map task opens that many files. Named in `spark.sql.extensions`
 * before a native engine's, it sees the shuffles before that engine replaces them; elsewhere Spark
 * finds [[QuerySizedShufflesFound]].
 */
final class QuerySizedShuffles extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    QuerySizedShuffles.inject(extensions, _ => true)
}

/**
 * The same for everybody else, behind all that `spark.sql.extensions` names: Spark finds this class by
 * META-INF/services. It does nothing where the other one is named.
 */
final class QuerySizedShufflesFound extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit =
    QuerySizedShuffles.inject(extensions, sc => !QuerySizedShuffles.isNamed(sc.getConf))
}

object QuerySizedShuffles {
  private val Name = classOf[QuerySizedShuffles].getName

  /** Names the rule before all that the user and an engine's plugin name, in their order. */
  def name(conf: SparkConf): Unit =
    if (!isNamed(conf) && conf.getBoolean(HearthKeys.PartitionsByQuery, true)) {
      conf.set(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, (Name +: named(conf)).mkString(","))
      ()
    }

  private[sql] def isNamed(conf: SparkConf): Boolean = named(conf).contains(Name)

  private def named(conf: SparkConf): Seq[String] =
    conf
      .get(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, "")
      .split(',')
      .map(_.trim)
      .filter(_.nonEmpty)
      .toSeq

  private[sql] def inject(
      extensions: SparkSessionExtensions,
      wanted: SparkContext => Boolean
  ): Unit = {
    extensions.injectQueryStagePrepRule { session =>
      val sc = session.sparkContext
      if (wanted(sc)) new SizeShuffles(sc) else new NoRule[SparkPlan]
    }
    extensions.injectRuntimeOptimizerRule { session =>
      val sc = session.sparkContext
      if (wanted(sc)) new JoinByHash(sc) else new NoRule[LogicalPlan]
    }
  }

  final private class NoRule[Plan <: TreeNode[_]] extends Rule[Plan] {
    def apply(plan: Plan): Plan = plan
  }
}
