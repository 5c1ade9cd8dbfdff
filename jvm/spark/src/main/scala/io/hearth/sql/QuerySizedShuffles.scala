package io.hearth.sql

import org.apache.spark.SparkConf
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.StaticSQLConf

import io.hearth.core.plan.HearthKeys

/**
 * Sets each query's number of shuffle partitions from what the query reads.
 *
 * Spark has one number for all queries (200), which is paid before adaptive execution can merge what
 * is small: each map task opens that many files. Named in `spark.sql.extensions` before a native
 * engine's, it sees the shuffles before that engine replaces them; elsewhere Spark finds
 * [[QuerySizedShufflesFound]].
 */
final class QuerySizedShuffles extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectQueryStagePrepRule(session => new SizeShuffles(session.sparkContext))
}

/**
 * The same for everybody else, behind all that `spark.sql.extensions` names: Spark finds this class by
 * META-INF/services. It does nothing where the other one is named.
 */
final class QuerySizedShufflesFound extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectQueryStagePrepRule { session =>
      val sc = session.sparkContext
      if (QuerySizedShuffles.isNamed(sc.getConf)) QuerySizedShuffles.NoRule
      else new SizeShuffles(sc)
    }
}

object QuerySizedShuffles {
  private val Name = classOf[QuerySizedShuffles].getName

  /** Names the rule before all that the user and an engine's plugin name, in their order. */
  def name(conf: SparkConf): Unit =
    if (!isNamed(conf) && conf.getBoolean(HearthKeys.PartitionsByQuery.name, true)) {
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

  private[sql] object NoRule extends Rule[SparkPlan] {
    def apply(plan: SparkPlan): SparkPlan = plan
  }
}
