package io.hearth.sql

import java.util.IdentityHashMap

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
final private[sql] class ShuffledBytes {
  import ShuffledBytes._

  // Each shuffle asks for all that is below it, and output is made anew by each call.
  private val sizes = new IdentityHashMap[SparkPlan, Option[BigInt]]
  private val widths = new IdentityHashMap[SparkPlan, BigInt]

  /** Bytes, or None where a part of the plan has no known size. */
  def of(plan: SparkPlan): Option[BigInt] = Option(sizes.get(plan)).getOrElse {
    val found = counted(plan)
    sizes.put(plan, found)
    found
  }

  private def counted(plan: SparkPlan): Option[BigInt] = plan match {
    case stage: ShuffleQueryStageExec if stage.isMaterialized =>
      stage.mapStats.map(found => BigInt(found.bytesByPartitionId.sum))
    // A native engine's own broadcast is not known here, but says what it holds.
    case stage: QueryStageExec =>
      of(stage.plan).orElse(stage.computeStats().map(_.sizeInBytes))
    case leaf: LeafExecNode => ofLeaf(leaf)
    case expand: ExpandExec => ofChildren(expand).map(_ * expand.projections.size)
    case known if keepsRows(known) => ofChildren(known)
    case _ => None
  }

  private def ofChildren(plan: SparkPlan): Option[BigInt] = {
    val found = plan.children.map(of)
    if (found.exists(_.isEmpty)) None
    else {
      val whole = found.flatten.sum
      // Of a union each row is one of its children's, not one of all side by side.
      val before = plan match {
        case _: UnionExec => width(plan)
        case _ => plan.children.map(width).sum
      }
      Some(whole * width(plan).min(before) / before)
    }
  }

  private def width(plan: SparkPlan): BigInt = Option(widths.get(plan)).getOrElse {
    val found = bytesOf(plan.output)
    widths.put(plan, found)
    found
  }
}

private[sql] object ShuffledBytes {
  private def ofLeaf(leaf: LeafExecNode): Option[BigInt] =
    for {
      link <- leaf.logicalLink
      Seq(relation) <- Some(link.collectLeaves())
      size <- known(relation)
    } yield size * factor(leaf) * bytesOf(leaf.output).min(bytesOf(relation.output)) /
      bytesOf(relation.output)

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

  private def bytesOf(output: Seq[Attribute]): BigInt =
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
