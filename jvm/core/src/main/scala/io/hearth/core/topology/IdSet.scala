package io.hearth.core.topology

import scala.collection.immutable.BitSet

import io.hearth.core.Brief

/**
 * An immutable set of kernel ids (CPUs or NUMA nodes), written as the kernel writes it: `0-3,8,10-11`.
 *
 * Ids are the kernel's own: sparse, never derived from counts, never limited to 64.
 */
final class IdSet private (private val bits: BitSet) {
  def size: Int = bits.size
  def isEmpty: Boolean = bits.isEmpty
  def nonEmpty: Boolean = bits.nonEmpty
  def contains(id: Int): Boolean = bits.contains(id)
  def head: Int = bits.head
  def last: Int = bits.last
  def iterator: Iterator[Int] = bits.iterator
  def toVector: Vector[Int] = bits.toVector
  def toBitSet: java.util.BitSet = java.util.BitSet.valueOf(bits.toBitMask)

  def |(other: IdSet): IdSet = new IdSet(bits | other.bits)
  def &(other: IdSet): IdSet = new IdSet(bits & other.bits)
  def &~(other: IdSet): IdSet = new IdSet(bits &~ other.bits)
  def subsetOf(other: IdSet): Boolean = (bits &~ other.bits).isEmpty
  def intersects(other: IdSet): Boolean = (bits & other.bits).nonEmpty

  override def equals(other: Any): Boolean = other match {
    // Word by word; a BitSet's own `==` and `subsetOf` go through its elements.
    case that: IdSet => (this eq that) || (bits ^ that.bits).isEmpty
    case _ => false
  }
  override def hashCode: Int = bits.hashCode

  /** The kernel's list format (Documentation/admin-guide/cputopology.rst); empty for no id. */
  override def toString: String = {
    val runs = bits.foldLeft(List.empty[(Int, Int)]) {
      case ((first, last) :: rest, id) if id == last + 1 => (first, id) :: rest
      case (runs, id) => (id, id) :: runs
    }
    runs.reverseIterator
      .map { case (first, last) => if (first == last) s"$first" else s"$first-$last" }
      .mkString(",")
  }
}

object IdSet {

  /** Largest id accepted: far above the kernel's NR_CPUS limit of 8192, so a typing error is caught. */
  val MaxId: Int = 65535

  val empty: IdSet = new IdSet(BitSet.empty)

  def apply(ids: Int*): IdSet = from(ids)
  def from(ids: IterableOnce[Int]): IdSet = new IdSet(BitSet.fromSpecific(ids))
  def union(sets: IterableOnce[IdSet]): IdSet = sets.iterator.foldLeft(empty)(_ | _)

  /** Parses the kernel's list format (`0-3,8`, also the strided `0-14:2/4`); blank text is the empty set. */
  def parse(text: String): Either[String, IdSet] = {
    val parts = text.trim.split(',').iterator.map(_.trim).filter(_.nonEmpty).toVector
    if (parts.size > MaxId + 1) Left(s"a list of ${parts.size} parts is longer than any of ids")
    else {
      val bits = new java.util.BitSet
      val problem = parts.iterator.flatMap(addPart(_, bits)).nextOption()
      problem.toLeft(new IdSet(BitSet.fromBitMaskNoCopy(bits.toLongArray)))
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
      val set = BitSet.fromBitMaskNoCopy(words)
      if (set.lastOption.exists(_ > MaxId))
        Left(s"the mask goes beyond the largest id accepted, $MaxId")
      else Right(new IdSet(set))
    }
  }

  /** One id, or `first-last`, or `first-last:used/group`. @return what is wrong with it */
  private def addPart(part: String, bits: java.util.BitSet): Option[String] = {
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
      bits: java.util.BitSet
  ): Option[String] =
    if (last < first) Some(s"'${Brief(part)}' ends before it begins")
    else if (last > MaxId) Some(s"'${Brief(part)}' goes beyond the largest id accepted, $MaxId")
    else {
      if (used >= group) bits.set(first, last + 1)
      else (first to last by group).foreach(at => bits.set(at, math.min(at + used, last + 1)))
      None
    }
}
