package io.hearth.sql

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{FullOuter, JoinType, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.status.numa.TaskMemory

import io.hearth.core.plan.{Engine, HearthKeys}

/**
 * Joins two shuffled sides by a hash table, without sorting, where the table fits a task's memory.
 *
 * It cannot spill, so the sides must have been written already: their rows and uncompressed bytes
 * are known then. Spark's own choice (`maxShuffledHashJoinLocalMapThreshold`, off unless set)
 * compares compressed bytes. Adaptive execution plans the join anew, with the hint of this rule.
 */
final private[sql] class JoinByHash(sc: SparkContext)
    extends Rule[LogicalPlan]
    with JoinSelectionHelper {
  import JoinByHash._

  private val settings = sc.getConf
  private val on =
    settings.getBoolean(HearthKeys.JoinsByHash, sc.master.startsWith("local-numa")) &&
      Engine.of(settings.getOption).isEmpty

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!on || isUsers(conf) || plan.isStreaming) plan
    else
      guard(plan)(_.transform {
        case join: Join if isOpen(join) => hinted(join)
      })

  /** Whether the user has chosen between the two joins. */
  private def isUsers(session: SQLConf): Boolean =
    session.contains(SQLConf.PREFER_SORTMERGEJOIN.key) ||
      session.contains(SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD.key)

  /** Whether Spark would sort both sides, though it could hash them. */
  private def isOpen(join: Join): Boolean =
    Seq(join.hint.leftHint, join.hint.rightHint).flatten
      // Spark's own, of a side with many empty partitions.
      .flatMap(_.strategy)
      .forall(_ == NO_BROADCAST_HASH) &&
      !canPlanAsBroadcastHashJoin(join, conf) &&
      (join match {
        case ExtractEquiJoinKeys(_, left, right, _, _, _, _, _) => hashJoinSupported(left, right)
        case _ => false
      })

  private def hinted(join: Join): Join = {
    val sides = for {
      left <- table(join.left)
      right <- table(join.right)
      memory <- TaskMemory.share(sc)
    } yield Seq(
      (left, hashesLeft(join.joinType), join.hint.copy(leftHint = ByHash)),
      (right, hashesRight(join.joinType), join.hint.copy(rightHint = ByHash))
    ).collect { case (bytes, true, hint) if bytes <= memory / MemoryParts => bytes -> hint }
    sides.toSeq.flatten.minByOption(_._1).fold(join) { case (_, hint) => join.copy(hint = hint) }
  }

  /** Not a side whose rows all stay: each that finds a partner would be marked, which takes longer than sorting. */
  private def hashesLeft(of: JoinType): Boolean =
    canBuildShuffledHashJoinLeft(of) && of != LeftOuter && of != FullOuter

  private def hashesRight(of: JoinType): Boolean =
    canBuildShuffledHashJoinRight(of) && of != RightOuter && of != FullOuter

  /** Bytes of the largest hash table of a side that has been shuffled for this join. */
  private def table(side: LogicalPlan): Option[BigInt] = side match {
    case found: LogicalQueryStage =>
      found.physicalPlan match {
        case stage: ShuffleQueryStageExec
            if stage.isMaterialized && stage.shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
          val written = stage.getRuntimeStatistics
          for (bytes <- stage.mapStats; rows <- written.rowCount)
            yield HashTable.largest(bytes.bytesByPartitionId, written.sizeInBytes, rows, advisory)
        case _ => None
      }
    case _ => None
  }

  private def advisory = BigInt(conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES))
}

private object JoinByHash {
  private val ByHash = Some(HintInfo(strategy = Some(SHUFFLE_HASH)))

  /**
   * A table may take one of these of a task's share of execution memory: Spark promises a task half
   * of it, a stage may build several, and one partition may have been compressed more than others.
   */
  private val MemoryParts = 4

  private val guard = new Guard(HearthKeys.JoinsByHash, "Shuffled sides are joined as Spark does")
}
