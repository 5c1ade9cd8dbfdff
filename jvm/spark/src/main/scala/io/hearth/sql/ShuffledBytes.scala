package io.hearth.sql

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionSet}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Complete, Partial}
import org.apache.spark.sql.catalyst.plans.LeftExistence
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.numa.QueryFacts
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}
import org.apache.spark.sql.types.{DataType, StringType}

/**
 * Estimates the most bytes that a plan's rows may take in a shuffle.
 *
 * A stage that has run counts what it wrote; a scan counts its files, of which a column of any length
 * may be nearly all. What filters, aggregates and keys take away is not known, so this is mostly more
 * than will be written. It must not be far less: adaptive execution merges partitions that are too
 * small, but splits hardly any that are too large. So an operator that may make a value of any length,
 * or that is not known here, makes the size unknown. A join whose keys may repeat on both sides is
 * guessed; where it makes more rows, tasks spill.
 */
final private[sql] class ShuffledBytes {
  import ShuffledBytes._

  // Each shuffle asks for all that is below it.
  private val sizes = new IdentityHashMap[SparkPlan, Option[Rows]]

  /** Bytes, or None where a part of the plan has no known size. */
  def of(plan: SparkPlan): Option[BigInt] = rowsOf(plan).map(_.provided)

  private def rowsOf(plan: SparkPlan): Option[Rows] = Option(sizes.get(plan)).getOrElse {
    val bytes = counted(plan)
    sizes.put(plan, bytes)
    bytes
  }

  private def counted(plan: SparkPlan): Option[Rows] = plan match {
    case stage: ShuffleQueryStageExec if stage.isMaterialized =>
      // Where no task ran there are no statistics.
      Some(ran(stage, stage.mapStats.fold(BigInt(0))(_.bytesByPartitionId.map(BigInt(_)).sum)))
    case stage: BroadcastQueryStageExec if stage.isMaterialized =>
      Some(ran(stage, stage.getRuntimeStatistics.sizeInBytes))
    case stage: QueryStageExec => rowsOf(stage.plan)
    case leaf: LeafExecNode => scanned(leaf)
    case union: UnionExec => together(union.children.map(rowsOf))
    case join: ShuffledJoin => joined(join)
    case join: BroadcastHashJoinExec => joined(join)
    case one: UnaryExecNode => rowsOf(one.child).flatMap(madeBy(one, _))
    case _ => None
  }

  private def joined(join: BaseJoinExec): Option[Rows] = join.joinType match {
    case LeftExistence(_) => rowsOf(join.left)
    case _ =>
      for (left <- rowsOf(join.left); right <- rowsOf(join.right))
        yield
          if (isUnique(join.right, join.rightKeys)) left.withOneOf(right)
          else if (isUnique(join.left, join.leftKeys)) right.withOneOf(left)
          else left.withSomeOf(right)
  }
}

private[sql] object ShuffledBytes {

  private def together(parts: Seq[Option[Rows]]): Option[Rows] =
    if (parts.exists(_.isEmpty)) None else parts.flatten.reduceOption(_ + _)

  private def ran(stage: QueryStageExec, bytes: BigInt): Rows =
    Rows(
      bytes,
      stage.getRuntimeStatistics.rowCount.getOrElse(bytes / Rows.minBytes(typesOf(stage)))
    )

  /** What an operator makes of the rows below it. */
  private def madeBy(plan: UnaryExecNode, below: Rows): Option[Rows] = plan match {
    case project: ProjectExec => below.made(project.projectList)
    case top: TakeOrderedAndProjectExec => below.made(top.projectList)
    case python: EvalPythonExec => below.made(python.child.output ++ python.udfs)
    case window: WindowExecBase => below.made(window.child.output ++ window.windowExpression)
    case expand: ExpandExec => together(expand.projections.map(below.made))
    case sums: BaseAggregateExec =>
      // Later the rows below have what the functions keep.
      val first =
        sums.aggregateExpressions.filter(one => one.mode == Partial || one.mode == Complete)
      below
        .aggregated(sums.groupingExpressions, first.map(_.aggregateFunction))
        .flatMap(_.made(sums.resultExpressions))
    case sample: SampleExec if sample.withReplacement => None
    case known if keepsRows(known) => Some(below)
    case _ => None
  }

  /** Whether an operator passes on some of its rows as they are. */
  private def keepsRows(plan: SparkPlan): Boolean = plan match {
    case _: FilterExec | _: SortExec | _: SampleExec | _: Exchange | _: WindowGroupLimitExec |
        _: BaseLimitExec | _: CoalesceExec | _: ColumnarToRowTransition |
        _: RowToColumnarTransition | _: InputAdapter | _: WholeStageCodegenExec |
        _: CollectMetricsExec | _: AQEShuffleReadExec =>
      true
    case _ => false
  }

  /** Whether no two rows of a join's side have the same key. */
  private def isUnique(side: SparkPlan, keys: Seq[Expression]): Boolean = side match {
    case made: BroadcastQueryStageExec if made.isMaterialized => QueryFacts.hasUniqueKeys(made)
    case _ =>
      // Sorts and exchanges that Spark adds between operators have no link.
      val links = side.collectFirst { case linked if linked.logicalLink.isDefined => linked }
      links.flatMap(_.logicalLink).exists {
        case stage: LogicalQueryStage => hasDistinct(stage.logicalPlan, keys)
        case other => hasDistinct(other, keys)
      }
  }

  private def hasDistinct(plan: LogicalPlan, keys: Seq[Expression]): Boolean =
    plan.distinctKeys.exists(_.subsetOf(ExpressionSet(keys)))

  private def scanned(leaf: LeafExecNode): Option[Rows] = leaf match {
    case range: RangeExec =>
      Some(Rows(range.numElements * Rows.minBytes(typesOf(range)), range.numElements))
    case local: LocalTableScanExec => held(local.rows, typesOf(local))
    case cached: InMemoryTableScanExec =>
      // Before it is filled its statistics are those of the query, guessed by the types of columns.
      Some(cached.relation)
        .filter(_.cacheBuilder.isCachedColumnBuffersLoaded)
        .flatMap(filled => read(cached, filled.computeStats(), filled.output.map(_.dataType)))
    case files: FileSourceScanLike =>
      read(files, Statistics(files.relation.sizeInBytes), files.relation.schema.map(_.dataType))
    case scan: BatchScanExec =>
      scan.scan match {
        case files: FileScan =>
          val size = Statistics(files.fileIndex.sizeInBytes)
          read(scan, size, files.dataSchema.map(_.dataType))
        case _ => relationOf(scan).flatMap(relation => read(scan, relation.stats, typesOf(scan)))
      }
    case _ => None
  }

  /** Rows of the driver, which are measured. */
  private def held(rows: Seq[InternalRow], columns: Seq[DataType]): Option[Rows] = {
    val texts = columns.indices.filterNot(at => Rows.isFixed(columns(at)))
    Option.when(texts.forall(columns(_) == StringType)) {
      val each = rows.iterator.map(row =>
        texts.filterNot(row.isNullAt).map(at => Rows.bytesOf(row.get(at, StringType)).toLong).sum
      )
      Rows(BigInt(each.sum) + rows.size * Rows.minBytes(columns), rows.size)
    }
  }

  private def relationOf(leaf: LeafExecNode): Option[LogicalPlan] =
    leaf.logicalLink.map(_.collectLeaves()).collect { case Seq(one) => one }

  /** The columns that a scan reads of a relation that has these. */
  private def read(leaf: LeafExecNode, held: Statistics, all: Seq[DataType]): Option[Rows] =
    Option.when(held.sizeInBytes < leaf.conf.defaultSizeInBytes) {
      val (columns, size) = (typesOf(leaf), held.sizeInBytes * Encoded)
      val bytes =
        if (!columns.forall(Rows.isFixed)) size
        else
          held.rowCount.fold(size * Rows.minBytes(columns) / Rows.minBytes(all))(
            _ * Rows.minBytes(columns)
          )
      Rows(bytes, held.rowCount.getOrElse(bytes / Rows.minBytes(columns)))
    }

  private def typesOf(plan: SparkPlan): Seq[DataType] = plan.output.map(_.dataType)

  /**
   * Rows take more in a shuffle than columns that are encoded or compressed in files or in the cache.
   * hearth's own judgement; TPC-H's lineitem: 2 to 6, by its columns.
   */
  private val Encoded = 4
}
