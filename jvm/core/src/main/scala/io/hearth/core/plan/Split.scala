package io.hearth.core.plan

import scala.collection.mutable

/**
 * A part of the machine and the parts that it consists of: package, pool of memory, node,
 * last-level-cache group. A part without further parts is split by its cores.
 *
 * @param even whether its executors must be as alike as its cores allow: where its parts do not
 *             divide so, it is split by its cores
 */
final private[plan] case class Part(
    cores: Vector[UsableCore],
    parts: Vector[Part],
    even: Boolean = false
) {
  val slots: Int = cores.iterator.map(_.slots).sum
  lazy val widestCore: Int = cores.iterator.map(_.slots).max
  lazy val cpus: Vector[Int] = cores.flatMap(_.cpus)
  lazy val coreOf: Map[Int, UsableCore] =
    cores.iterator.flatMap(core => core.cpus.map(_ -> core)).toMap
}

private[plan] object Part {

  /** The machine by packages, pools, nodes and cache groups. */
  def machine(pools: Vector[Pool]): Part =
    whole(grouped(pools)(_.cores.head.packageId).map(ofPackage))

  private def ofPackage(pools: Vector[Pool]): Part = whole(pools.map(pool))

  /** Of a hybrid machine, the cores of each kind are parts, so that executors keep to one. */
  def pool(pool: Pool): Part = grouped(pool.cores)(_.efficient) match {
    case Vector(cores) => ofKind(cores).copy(even = true)
    case kinds => Part(pool.cores, kinds.map(ofKind))
  }

  private def ofKind(cores: Vector[UsableCore]): Part = whole(grouped(cores)(_.node).map(ofNode))

  private def ofNode(cores: Vector[UsableCore]): Part =
    whole(grouped(cores)(_.cache).map(Part(_, Vector.empty)))

  private def whole(parts: Vector[Part]): Part =
    if (parts.sizeIs == 1) parts.head else Part(parts.flatMap(_.cores), parts)

  /** Groups in the order of their first member. */
  private def grouped[A, K](items: Vector[A])(key: A => K): Vector[Vector[A]] = {
    val groups = items.groupBy(key)
    items.map(key).distinct.map(groups)
  }
}

/** How far the memory of some cores is from that of others, in the kernel's unit. */
private[plan] trait Distances {
  def between(some: Vector[UsableCore], others: Vector[UsableCore]): Double
}

private[plan] object Distances {

  /** How far the members of a group are from each other, in all. */
  def apart(group: Vector[Int], far: (Int, Int) => Double): Double =
    (for (a <- group; b <- group if a < b) yield far(a, b)).sum
}

/** Divides CPUs among executors, respecting the machine's parts. */
private[plan] object Split {

  /**
   * The CPUs of `n` executors that together use all of `part`: every executor stays in the smallest
   * part that there are enough executors to fill, and executors within one pool differ by one core
   * at most.
   *
   * @param n at least 1, at most the number of CPUs of the part
   */
  def evenly(part: Part, n: Int, distances: Distances): Vector[Vector[Int]] =
    if (n == 1) Vector(part.cpus)
    else if (part.parts.isEmpty) cores(part.cores, n)
    else {
      val found = byParts(part, n, distances)
      if (part.even && spread(part, found) > part.widestCore) cores(part.cores, n) else found
    }

  private def byParts(part: Part, n: Int, distances: Distances): Vector[Vector[Int]] =
    if (n < part.parts.size) joined(part.parts, n, distances).map(_.flatMap(_.cpus))
    else {
      val counts = share(n, part.parts.map(p => Weight(p.slots, p.cpus.size)))
      part.parts.zip(counts).flatMap { case (p, count) => evenly(p, count, distances) }
    }

  /** By how many slots the widest of these executors exceeds the narrowest. */
  private def spread(part: Part, executors: Vector[Vector[Int]]): Int = {
    val widths = executors.map(UsableMachine.slotsOn(part.coreOf, _))
    widths.max - widths.min
  }

  /** The most that can be given to a part (`max`), and its claim. */
  final private case class Weight(claim: Int, max: Int)

  /** One for each, then each further one goes where it leaves the largest share (D'Hondt's rule). */
  private def share(n: Int, weights: Vector[Weight]): Vector[Int] = {
    val counts = Array.fill(weights.size)(1)
    def claim(i: Int) = weights(i).claim.toDouble / (counts(i) + 1)
    val open = mutable.PriorityQueue.empty[(Double, Int)] // the largest claim, of equals the first
    def offer(i: Int) = if (counts(i) < weights(i).max) open += claim(i) -> -i
    weights.indices.foreach(offer)
    for (_ <- weights.size until n) {
      val next = -open.dequeue()._2
      counts(next) += 1
      offer(next)
    }
    counts.toVector
  }

  /**
   * Parts joined into `n` groups of about equal slots: runs of them in their own order, or in one that always
   * goes on to the nearest, whichever leaves the members of a group nearest to each other.
   */
  private def joined(parts: Vector[Part], n: Int, distances: Distances): Vector[Vector[Part]] = {
    val far = parts.map(a => parts.map(b => distances.between(a.cores, b.cores)))
    val orders = parts.indices.toVector +: parts.indices.map(nearestNext(far, _))
    orders.distinct
      .map(order => runs(order.map(parts(_).slots), n).map(_.map(order)))
      .minBy(_.map(Distances.apart(_, far(_)(_))).sum)
      .map(_.map(parts))
  }

  /** All places from this one on, each followed by the nearest that is left, of equals the first. */
  private def nearestNext(far: Vector[Vector[Double]], from: Int): Vector[Int] =
    Iterator
      .iterate((Vector(from), far.indices.toVector.filter(_ != from))) { case (done, left) =>
        val next = left.minBy(far(done.last)(_))
        (done :+ next, left.filter(_ != next))
      }
      .drop(far.size - 1)
      .next()
      ._1

  /** Neighbouring places, `n` runs with about equal slots in each. */
  private def runs(slots: Vector[Int], n: Int): Vector[Vector[Int]] = {
    val sums = slots.scanLeft(0)(_ + _)
    def next(from: Int, left: Int): Int = {
      val fair = (sums.last - sums(from)).toDouble / left
      val max = slots.size - from - (left - 1)
      def half(i: Int) = (sums(from + i - 1) + sums(from + i)) / 2.0 - sums(from)
      from + (1 to max).iterator.takeWhile(half(_) <= fair).foldLeft(1)((_, i) => i)
    }
    val starts = (n until 1 by -1).scanLeft(0)(next) :+ slots.size
    starts.zip(starts.tail).map { case (from, until) => (from until until).toVector }.toVector
  }

  private def cores(cores: Vector[UsableCore], n: Int): Vector[Vector[Int]] =
    if (n > cores.size) {
      val counts = share(n, cores.map(c => Weight(c.cpus.size, c.cpus.size)))
      cores.zip(counts).flatMap { case (core, count) => chunks(core.cpus, count) }
    } else if (cores.map(_.slots).distinct.sizeIs == 1) chunks(cores, n).map(_.flatMap(_.cpus))
    else dealt(cores, n).map(_.flatMap(_.cpus))

  /**
   * Cores of different widths, the widest first, each to whoever has least, so that no two differ
   * by more than a core. Neighbours stay together in each round.
   */
  private def dealt(cores: Vector[UsableCore], n: Int): Vector[Vector[UsableCore]] = {
    val hands = Array.fill(n)(Vector.empty[UsableCore])
    val fewest = mutable.PriorityQueue.from((0 until n).map(i => (0, -i))) // fewest slots first
    for (core <- cores.sortBy(-_.slots)) {
      val (slots, hand) = fewest.dequeue()
      hands(-hand) :+= core
      fewest += (slots - core.slots -> hand)
    }
    hands.toVector
  }

  /** `n` runs of neighbours; the first ones are longer by one where it does not divide. */
  def chunks[A](items: Vector[A], n: Int): Vector[Vector[A]] = {
    val starts = (0 to n).map(i => i * (items.size / n) + math.min(i, items.size % n))
    starts.zip(starts.tail).map { case (from, until) => items.slice(from, until) }.toVector
  }
}
