package org.apache.spark.sql.execution.numa

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins.HashedRelation

/** What Spark knows of an application and its queries, but tells its own packages only. */
object QueryFacts {

  /** Tasks that run at the same time; None where there is no executor yet. */
  def tasksAtOnce(sc: SparkContext): Option[Int] =
    Some(sc.maxNumConcurrentTasks(sc.resourceProfileManager.defaultResourceProfile)).filter(_ > 0)

  /** Whether no two rows of a broadcast that has been made have the same join key. */
  def hasUniqueKeys(made: BroadcastQueryStageExec): Boolean =
    made.executeBroadcast[Any]().value match {
      case relation: HashedRelation => relation.keyIsUnique
      // Of a nested loop join, or of a native engine.
      case _ => false
    }
}
