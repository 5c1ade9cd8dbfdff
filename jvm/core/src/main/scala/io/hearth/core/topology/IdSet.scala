package io.hearth.core.topology

import java.util.{Arrays, BitSet}

import scala.language.implicitConversions

import io.hearth.core.Brief
import io.hearth.core.json.Json

/**
 * An immutable set of kernel ids (CPUs or NUMA nodes), written as the kernel writes it: `0-3,8,10-11`.
 *
 * Ids are the kernel's own: sparse, never derived from counts, never limited to 64. A set costs what its
 * runs of ids cost, however large they are: a machine of 65,536 CPUs has as many sets of one or two.
 *
 * @param bounds the first id of each run and the first id after it, ascending
 */
final class IdSet private (private val bounds: Array[Int]) {
  def size: Int = runs.map { case (from, until) => until - from }.sum
  def isEmpty: Boolean = bounds.isEmpty
  def nonEmpty: Boolean = bounds.nonEmpty
  def contains(id: Int): Boolean = boundsUpTo(id) % 2 == 1
  def head: Int = bounds.head
  def last: Int = bounds.last - 1
  def iterator: Iterator[Int] = runs.flatMap { case (from, until) => Iterator.range(from, until) }
  def toVector: Vector[Int] = iterator.toVector
  def toBitSet: BitSet = {
    val bits = new BitSet
    addTo(bits)
    bits
  }

  def |(other: IdSet): IdSet = IdSet.union(Iterator(this, other))
  def &(other: IdSet): IdSet =
    if (other.bounds.length < bounds.length) other.restricted(this, inOther = true)
    else restricted(other, inOther = true)
  def &~(other: IdSet): IdSet = restricted(other, inOther = false)
  def subsetOf(other: IdSet): Boolean = (this &~ other).isEmpty
  def intersects(other: IdSet): Boolean = (this & other).nonEmpty

  override def equals(other: Any): Boolean = other match {
    case that: IdSet => Arrays.equals(bounds, that.bounds)
    case _ => false
  }
  override def hashCode: Int = Arrays.hashCode(bounds)

  /** The kernel's list format (Documentation/admin-guide/cputopology.rst); empty for no id. */
  override def toString: String = runs
    .map { case (from, until) =>
      if (until == from + 1) s"$from" else s"$from-${until - 1}"
    }
    .mkString(",")

  /** Its ids behind their noun: `node 3`, `nodes 0-1`. */
  def named(noun: String): String = if (size == 1) s"$noun $this" else s"${noun}s $this"

  /** Each run's first id and the first after it. */
  private def runs: Iterator[(Int, Int)] =
    Iterator.range(0, bounds.length, 2).map(at => bounds(at) -> bounds(at + 1))

  private def addTo(bits: BitSet): Unit = runs.foreach { case (from, until) =>
    bits.set(from, until)
  }

  /** How many bounds are at most `id`: an odd number where the set contains it. */
  private def boundsUpTo(id: Int): Int = {
    val at = Arrays.binarySearch(bounds, id)
    if (at >= 0) at + 1 else -at - 1
  }

  /** The ids of this set that are in the other one, or those that are not; looks at no other's. */
  private def restricted(other: IdSet, inOther: Boolean): IdSet = {
    val result = Array.newBuilder[Int]
    for ((from, until) <- runs) {
      val start = other.boundsUpTo(from)
      val inside = Iterator.range(start, other.bounds.length).map(other.bounds).takeWhile(_ < until)
      val first = if ((start % 2 == 1) == inOther) Iterator(from) else Iterator.empty
      val all = (first ++ inside).toArray
      result ++= (if (all.length % 2 == 1) all :+ until else all)
    }
    new IdSet(result.result())
  }
}

object IdSet {

  /** Largest id accepted: far above the kernel's NR_CPUS limit of 8192, so a typing error is caught. */
  val MaxId: Int = 65535

  val empty: IdSet = new IdSet(Array.emptyIntArray)

  /** As documents hold it. */
  implicit def json(ids: IdSet): Json.Value = ids.toString

  def apply(ids: Int*): IdSet = from(ids)

  def from(ids: IterableOnce[Int]): IdSet = {
    val sorted = ids.iterator.toArray.sorted
    val bounds = Array.newBuilder[Int]
    for (at <- sorted.indices) {
      if (at == 0 || sorted(at) > sorted(at - 1) + 1) bounds += sorted(at)
      if (at == sorted.length - 1 || sorted(at + 1) > sorted(at) + 1) bounds += sorted(at) + 1
    }
    new IdSet(bounds.result())
  }

  def union(sets: IterableOnce[IdSet]): IdSet = {
    val bits = new BitSet
    sets.iterator.foreach(_.addTo(bits))
    of(bits)
  }

  private def of(bits: BitSet): IdSet = {
    val bounds = Array.newBuilder[Int]
    var from = bits.nextSetBit(0)
    while (from >= 0) {
      val until = bits.nextClearBit(from)
      bounds += from += until
      from = bits.nextSetBit(until)
    }
    new IdSet(bounds.result())
  }

  /** Parses the kernel's list format (`0-3,8`, also the strided `0-14:2/4`); blank text is the empty set. */
  def parse(text: String): Either[String, IdSet] = {
    val parts = text.trim.split(',').iterator.map(_.trim).filter(_.nonEmpty).toVector
    if (parts.size > MaxId + 1) Left(s"a list of ${parts.size} parts is longer than any of ids")
    else {
      val bits = new BitSet
      val problem = parts.iterator.flatMap(addPart(_, bits)).nextOption()
      problem.toLeft(of(bits))
    }
  }

  /**
   * Parses the kernel's mask format: hexadecimal, in groups of 32 bits separated by commas, the highest
   * first (`ffffffff,00000001`).
   */
  def parseMask(text: String): Either[String, IdSet] = {
    val digits = text.filter(c => c != ',' && !c.isWhitespace)
    if (digits.isEmpty || !digits.forall(Character.digit(_, 16) >= 0))
      Left(s"'${Brief(text.trim, 40)}' is not a hexadecimal mask such as 0000000f")
    else {
      val words = new Array[Long]((digits.length + 15) / 16)
      for (at <- digits.indices) {
        val value = Character.digit(digits.charAt(digits.length - 1 - at), 16).toLong
        words(at / 16) |= value << (at % 16 * 4)
      }
      val bits = BitSet.valueOf(words)
      if (bits.length > MaxId + 1)
        Left(s"the mask goes beyond the largest id accepted, $MaxId")
      else Right(of(bits))
    }
  }

  /** One id, or `first-last`, or `first-last:used/group`. @return what is wrong with it */
  private def addPart(part: String, bits: BitSet): Option[String] = {
    val (range, stride) = splitAt(part, ':')
    val (first, last) = splitAt(range, '-')
    val numbers = Vector(Some(first), last).flatten.map(number)
    val strides = stride.map(text => splitAt(text, '/')).map { case (used, group) =>
      (number(used), group.flatMap(number))
    }
    (numbers, strides) match {
      case (Vector(Some(id)), None) => add(part, id, id, 1, 1, bits)
      case (Vector(Some(from), Some(to)), None) => add(part, from, to, 1, 1, bits)
      case (Vector(Some(from), Some(to)), Some((Some(used), Some(group)))) if group > 0 =>
        add(part, from, to, used, group, bits)
      case _ => Some(s"'${Brief(part)}' is not a list of ids such as 0-3,8")
    }
  }

  private def splitAt(text: String, mark: Char): (String, Option[String]) =
    text.indexOf(mark) match {
      case -1 => (text, None)
      case at => (text.take(at), Some(text.drop(at + 1)))
    }

  private def number(text: String): Option[Int] =
    Option.when(text.nonEmpty && text.length <= 6 && text.forall(c => c >= '0' && c <= '9'))(
      text.toInt
    )

  /** Adds the first `used` of each `group` ids. */
  private def add(
      part: String,
      first: Int,
      last: Int,
      used: Int,
      group: Int,
      bits: BitSet
  ): Option[String] =
    if (last < first) Some(s"'${Brief(part)}' ends before it begins")
    else if (last > MaxId) Some(s"'${Brief(part)}' goes beyond the largest id accepted, $MaxId")
    else {
      if (used >= group) bits.set(first, last + 1)
      else (first to last by group).foreach(at => bits.set(at, math.min(at + used, last + 1)))
      None
    }
}
