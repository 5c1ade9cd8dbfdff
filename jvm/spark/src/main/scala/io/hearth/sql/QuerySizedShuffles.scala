package io.hearth.sql

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/**
 * Sets each query's number of shuffle partitions from what the query reads.
 *
 * Spark has one number for all queries (200), which is paid before adaptive execution can merge what
 * is small: each map task opens that many files. Spark finds this class by META-INF/services, so
 * that it stands beside what the user names in `spark.sql.extensions`.
 */
final class QuerySizedShuffles extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectQueryStagePrepRule(session => new SizeShuffles(session.sparkContext))
}
