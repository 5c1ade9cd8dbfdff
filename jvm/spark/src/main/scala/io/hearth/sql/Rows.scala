package io.hearth.sql

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/**
 * At most so many rows, which take at most so many bytes in a shuffle.
 *
 * @param guessed whether a join whose keys may repeat on both sides is among what made them
 */
final private[sql] case class Rows(bytes: BigInt, count: BigInt, guessed: Boolean = false) {
  import Rows._

  /** Bytes to provide for. */
  def provided: BigInt = if (guessed) bytes * Repeats else bytes

  def +(other: Rows): Rows =
    Rows(bytes + other.bytes, count + other.count, guessed || other.guessed)

  /** These rows, each with at most one of the other's. */
  def withOneOf(other: Rows): Rows =
    Rows(bytes + count * other.bytes / other.count.max(1), count, guessed) + other

  /** Each with some of the other's: a guess, of as many rows as the larger side has. */
  def withSomeOf(other: Rows): Rows = {
    val rows = count.max(other.count)
    Rows(
      rows * bytes / count.max(1) + rows * other.bytes / other.count.max(1),
      rows,
      guessed = true
    )
  }

  /** What these expressions make of each row; None where that may be of any length. */
  def made(by: Seq[Expression]): Option[Rows] = grown(by.map(partsOf))

  /** The same of an aggregate, which may keep as many rows as it reads. */
  def aggregated(keys: Seq[Expression], functions: Seq[AggregateFunction]): Option[Rows] =
    grown(keys.map(partsOf) ++ functions.map(partsOf))

  private def grown(parts: Seq[Option[Parts]]): Option[Rows] =
    together(parts).map { all =>
      val copies = all.columns.groupBy(identity).values.map(_.size).maxOption.getOrElse(1)
      copy(bytes = bytes * copies + count * all.added)
    }
}

private[sql] object Rows {

  /** How many partners a row of a join mostly has at most where both sides' keys may repeat: hearth's own judgement. */
  private val Repeats = 4

  /** What a value consists of: columns of the row it is made from, and bytes beside them. */
  final private case class Parts(columns: Seq[ExprId], added: BigInt)

  private def together(parts: Seq[Option[Parts]]): Option[Parts] =
    if (parts.exists(_.isEmpty)) None
    else Some(Parts(parts.flatten.flatMap(_.columns), parts.flatten.map(_.added).sum))

  private def partsOf(value: Expression): Option[Parts] = value match {
    case column: Attribute => Some(Parts(Seq(column.exprId), 0))
    case Alias(column: Attribute, _) => partsOf(column)
    // Such as random numbers, which say more than the columns.
    case random if !random.deterministic => None
    case number if isFixed(number.dataType) => Some(Parts(Nil, number.dataType.defaultSize))
    case literal: Literal if literal.value == null => Some(Parts(Nil, 0))
    case literal: Literal if literal.dataType == StringType =>
      Some(Parts(Nil, bytesOf(literal.value)))
    case text: Cast if text.dataType == StringType && isAtom(text.child.dataType) =>
      Some(Parts(Nil, MaxNumberBytes))
    case longer if isNoLonger(longer) => together(longer.children.map(partsOf))
    case _ => None
  }

  /** Whether a value has at most the bytes of its operands together. */
  private def isNoLonger(value: Expression): Boolean = value match {
    case _: Alias | _: CaseWhen | _: Coalesce | _: Concat | _: CreateNamedStruct |
        _: GetStructField | _: If | _: Lower | _: String2TrimExpression | _: Substring | _: Upper =>
      true
    case _ => false
  }

  private def partsOf(function: AggregateFunction): Option[Parts] = function match {
    case _: Min | _: Max | _: First | _: Last | _: MaxBy | _: MinBy =>
      together(function.children.map(partsOf))
    case _: CollectList | _: CollectSet =>
      together(Some(Parts(Nil, ArrayHeader)) +: function.children.map(partsOf))
    case _ if function.aggBufferAttributes.forall(buffer => isFixed(buffer.dataType)) =>
      Some(
        Parts(
          Nil,
          function.aggBufferAttributes.map(buffer => BigInt(buffer.dataType.defaultSize)).sum
        )
      )
    case _ => None
  }

  def bytesOf(text: Any): Int = text.toString.getBytes(UTF_8).length

  /** Whether all values of a type take the same bytes. */
  def isFixed(of: DataType): Boolean = of match {
    case struct: StructType => struct.forall(field => isFixed(field.dataType))
    case _ => isAtom(of)
  }

  private def isAtom(of: DataType): Boolean = of match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | NullType |
        _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType =>
      true
    case _ => false
  }

  /** A decimal of 38 digits, a time with its zone, an interval in words. */
  private val MaxNumberBytes = 64

  /** Its length and which of its elements are null, as a row keeps it. */
  private val ArrayHeader = 24

  /** The least that a row of these columns takes before it is compressed. */
  def minBytes(columns: Seq[DataType]): BigInt =
    columns.map(of => BigInt(if (isFixed(of)) of.defaultSize else Word)).sum + Word

  /** Of the columns that are null, and of where a text stands. */
  private val Word = 8
}
