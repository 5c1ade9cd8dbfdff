package io.hearth.sql

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{
  AQEShuffleReadExec,
  QueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledJoin}
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}

/**
 * Estimates the bytes that a plan's rows take in a shuffle.
 *
 * A stage that has run counts what it wrote. A scan counts its relation's size, in proportion to
 * the columns that it reads, as Spark's own statistics do (SizeInBytesOnlyStatsPlanVisitor). What
 * filters, aggregates and keys take away is not known, so this is mostly more than will be written.
 * An operator that may make many rows of one, or that is not known here, makes the size unknown.
 */
private[sql] object ShuffledBytes {

  /** Bytes, or None where a part of the plan has no known size. */
  def of(plan: SparkPlan): Option[BigInt] = plan match {
    case stage: ShuffleQueryStageExec if stage.isMaterialized =>
      stage.mapStats.map(found => BigInt(found.bytesByPartitionId.sum))
    case stage: QueryStageExec => of(stage.plan)
    case leaf: LeafExecNode => ofLeaf(leaf)
    case expand: ExpandExec => ofChildren(expand).map(_ * expand.projections.size)
    case known if keepsRows(known) => ofChildren(known)
    case _ => None
  }

  private def ofChildren(plan: SparkPlan): Option[BigInt] = {
    val sizes = plan.children.map(of)
    if (sizes.exists(_.isEmpty)) None
    else {
      val whole = sizes.flatten.sum
      // Of a union each row is one of its children's, not one of all side by side.
      val before = plan match {
        case _: UnionExec => width(plan.output)
        case _ => plan.children.map(child => width(child.output)).sum
      }
      Some(whole * width(plan.output).min(before) / before)
    }
  }

  private def ofLeaf(leaf: LeafExecNode): Option[BigInt] =
    for {
      link <- leaf.logicalLink
      Seq(relation) <- Some(link.collectLeaves())
      size <- known(relation)
    } yield size * factor(leaf) * width(leaf.output).min(width(relation.output)) /
      width(relation.output)

  private def known(relation: LogicalPlan): Option[BigInt] =
    Some(relation.stats.sizeInBytes).filter(_ < relation.conf.defaultSizeInBytes)

  /** Rows take more in a shuffle than in files that hold columns encoded and compressed. */
  private def factor(leaf: LeafExecNode): Int = leaf match {
    case scan: FileSourceScanExec if scan.supportsColumnar => Encoded
    case scan: BatchScanExec if scan.supportsColumnar => Encoded
    case _ => 1
  }

  /** hearth's own judgement; TPC-H's lineitem: 2 to 6, by its columns. */
  private val Encoded = 4

  private def width(output: Seq[Attribute]): BigInt =
    BigInt(RowHeader) + output.map(attribute => BigInt(attribute.dataType.defaultSize)).sum

  private val RowHeader = 8

  /** Whether the plan has at most the rows of its children together, as joins by key mostly do. */
  private def keepsRows(plan: SparkPlan): Boolean = plan match {
    case _: ProjectExec | _: FilterExec | _: SortExec | _: UnionExec | _: SampleExec |
        _: BaseAggregateExec | _: Exchange | _: ShuffledJoin | _: BroadcastHashJoinExec |
        _: EvalPythonExec | _: WindowExecBase | _: WindowGroupLimitExec | _: BaseLimitExec |
        _: TakeOrderedAndProjectExec | _: CoalesceExec | _: ColumnarToRowTransition |
        _: RowToColumnarTransition | _: InputAdapter | _: WholeStageCodegenExec |
        _: CollectMetricsExec | _: AQEShuffleReadExec =>
      true
    case _ => false
  }
}
