package io.hearth.sql

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.internal.SQLConf

import io.hearth.core.plan.{HearthKeys, ShufflePartitions}

/**
 * Sets the number of partitions of a plan's open shuffles, stage by stage.
 *
 * @param slots tasks that run at the same time
 */
final private[sql] class Sizing(conf: SQLConf, slots: Int) {
  private val max = conf.defaultNumShufflePartitions
  private val waves = slots * Sizing.Waves

  /** Where a plan has more than Spark's own number, as on many slots, little data need no more than that. */
  private val min = Seq(max, waves, ShufflePartitions.Sparks).min
  private val bytes = new ShuffledBytes
  private val advisory = BigInt(conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES))

  /** The least that Spark makes of a partition for the sake of idle slots. */
  private val smallest = BigInt(conf.getConf(SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE))

  /** The plan with few enough shuffle partitions; as it is, where that fails, with one warning. */
  def sized(plan: SparkPlan): SparkPlan =
    try stages(plan)
    catch {
      // A class that this version of Spark lacks is an error, and no exception.
      case fault @ (_: LinkageError | NonFatal(_)) =>
        Sizing.warn(fault)
        plan
    }

  /** One number for the shuffles that the last stage reads, and so on for the stages below it. */
  private def stages(plan: SparkPlan): SparkPlan = {
    val (open, others) = sources(plan).partition(isOpen)
    val bound = others.exists(_.outputPartitioning.numPartitions == max)
    replace(plan, if (open.isEmpty || bound) max else numberFor(open))
  }

  /** What a stage reads that has a partitioning: shuffles, stages that were made, bucketed tables. */
  private def sources(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: BroadcastExchangeLike | _: BroadcastQueryStageExec => Nil
    case shuffle: ShuffleExchangeLike => Seq(shuffle)
    case leaf if leaf.children.isEmpty =>
      leaf.outputPartitioning match {
        case _: UnknownPartitioning | SinglePartition => Nil
        case _ => Seq(leaf)
      }
    case other => other.children.flatMap(sources)
  }

  /** Whether it is a shuffle that Spark added, with the number that it gives to all. */
  private def isOpen(plan: SparkPlan): Boolean = plan match {
    case exchange: ShuffleExchangeExec if exchange.shuffleOrigin == ENSURE_REQUIREMENTS =>
      exchange.outputPartitioning match {
        // Not the exchange's own number, which would make its shuffle.
        case divided @ (_: HashPartitioning | _: RangePartitioning) => divided.numPartitions == max
        case _ => false
      }
    case _ => false
  }

  private def numberFor(open: Seq[SparkPlan]): Int = {
    val sizes = open.map(exchange => bytes.of(exchange.children.head))
    if (sizes.exists(_.isEmpty)) max
    else {
      // Adaptive execution merges them all together, up to the advisory size.
      val size = sizes.flatten.sum
      val needed = (size + advisory - 1) / advisory
      val busy = (size / smallest).min(waves)
      // The last partitions of a stage leave no slot idle.
      val whole = if (needed > min) (needed + slots - 1) / slots * slots else BigInt(min)
      whole.max(busy).min(max).toInt
    }
  }

  private def replace(plan: SparkPlan, number: Int): SparkPlan = plan match {
    case exchange: ShuffleExchangeExec =>
      val child = stages(exchange.child)
      val below =
        if (child.fastEquals(exchange.child)) exchange else exchange.withNewChildren(Seq(child))
      if (isOpen(exchange) && number != max) Sizing.renumbered(below, number) else below
    case exchange: Exchange => exchange.mapChildren(stages)
    case other => other.mapChildren(replace(_, number))
  }
}

private object Sizing extends Logging {

  /** Partitions for each task that runs at the same time, so that uneven ones find their balance. */
  val Waves = 2

  private val warned = new AtomicBoolean(false)

  def warn(fault: Throwable): Unit =
    if (warned.compareAndSet(false, true))
      logWarning(
        s"Shuffles keep Spark's number of partitions: $fault; ${HearthKeys.PartitionsByQuery.name}=false " +
          "turns this rule of hearth's off"
      )

  /** A copy whose constructor is not named: it takes more in each version of Spark. */
  def renumbered(exchange: SparkPlan, number: Int): SparkPlan =
    exchange.makeCopy(exchange.productIterator.map {
      case hash: HashPartitioning => hash.copy(numPartitions = number)
      case range: RangePartitioning => range.copy(numPartitions = number)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)
}
