package io.hearth.core.topology

import scala.collection.immutable.BitSet

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

  def |(other: IdSet): IdSet = new IdSet(bits | other.bits)
  def &(other: IdSet): IdSet = new IdSet(bits & other.bits)
  def &~(other: IdSet): IdSet = new IdSet(bits &~ other.bits)
  def subsetOf(other: IdSet): Boolean = bits.subsetOf(other.bits)
  def intersects(other: IdSet): Boolean = bits.exists(other.bits.contains)

  override def equals(other: Any): Boolean = other match {
    case that: IdSet => bits == that.bits
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
    parts.foldLeft[Either[String, IdSet]](Right(empty)) { (sum, part) =>
      for (set <- sum; ids <- parsePart(part)) yield set | ids
    }
  }

  private val Single = """(\d{1,6})""".r
  private val Range = """(\d{1,6})-(\d{1,6})""".r
  private val Strided = """(\d{1,6})-(\d{1,6}):(\d{1,6})/(\d{1,6})""".r

  private def parsePart(part: String): Either[String, IdSet] = part match {
    case Single(id) => checked(part, id.toInt, id.toInt, _ => true)
    case Range(first, last) => checked(part, first.toInt, last.toInt, _ => true)
    case Strided(first, last, used, group) if group.toInt > 0 =>
      checked(part, first.toInt, last.toInt, id => (id - first.toInt) % group.toInt < used.toInt)
    case _ => Left(s"'$part' is not a list of ids such as 0-3,8")
  }

  private def checked(part: String, first: Int, last: Int, keep: Int => Boolean) =
    if (last < first) Left(s"'$part' ends before it begins")
    else if (last > MaxId) Left(s"'$part' goes beyond the largest id accepted, $MaxId")
    else Right(from((first to last).iterator.filter(keep)))
}
