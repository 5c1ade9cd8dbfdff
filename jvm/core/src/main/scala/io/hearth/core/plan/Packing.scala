package io.hearth.core.plan

/**
 * Finds CPUs for executors of given widths (`local-numa[NxM]`).
 *
 * Each executor gets the tightest place that fits: a last-level-cache group, else a pool (a NUMA
 * node), else a package, else any CPUs, those of the nearest pools together; of equal places the one with most free, so that executors
 * spread over the memory of the machine.
 */
private[plan] object Packing {

  /** How densely tasks sit on cores, from one task for a whole core to sharing cores. */
  private type Density = UsableCore => Vector[Cell]

  private def tasksPerCore(max: Int): Density =
    core => Vector(Cell(core.cpus, math.min(max, core.slots)))

  private val sharedSlots: Density =
    core => Split.chunks(core.cpus, math.max(1, core.slots)).map(Cell(_, 1))
  private val everyThread: Density = core => Vector(Cell(core.cpus, core.cpus.size))
  private val sharedCores: Density = core => core.cpus.map(cpu => Cell(Vector(cpu), 1))

  /** CPUs given to one executor together, and the tasks they take. */
  final private case class Cell(cpus: Vector[Int], room: Int)

  final private case class Bin(packageId: Int, groups: Vector[Vector[Cell]]) {
    val free: Int = groups.iterator.flatten.map(_.room).sum
  }

  /**
   * CPUs for executors of these widths, in their order; None where the machine has fewer CPUs.
   * Tasks spread over as many cores as possible while each executor stays inside one pool;
   * otherwise executors may span pools; only then do executors share cores, or tasks fill every
   * thread.
   */
  def place(
      all: Vector[Pool],
      widths: Vector[Int],
      distances: Distances
  ): Option[Vector[Vector[Int]]] = {
    val pools = all.flatMap(ofOneKind)
    val max = pools.iterator.flatMap(_.cores).map(_.slots).max
    lazy val far = pools.map(a => pools.map(b => distances.between(a.cores, b.cores)))
    val roomy =
      (1 to max).iterator.map(tasks => pack(pools, widths, tasksPerCore(tasks), None))
    val tight = Iterator(tasksPerCore(max), sharedSlots, everyThread, sharedCores)
      .map(pack(pools, widths, _, Some((a, b) => far(a)(b))))
    (roomy ++ tight).collectFirst { case Some(found) => found }
  }

  /** The faster and the slower cores of a hybrid machine apart. */
  private def ofOneKind(pool: Pool): Vector[Pool] = {
    val (slower, faster) = pool.cores.partition(_.efficient)
    Vector(faster, slower).filter(_.nonEmpty).map(cores => pool.copy(cores = cores))
  }

  /** How many executors of this width the machine holds. */
  def count(pools: Vector[Pool], width: Int): Int = {
    val worthwhile = pools.iterator.map(_.slots).sum / width
    if (worthwhile > 0) worthwhile
    else pools.iterator.flatMap(_.cores).map(_.cpus.size).sum / width
  }

  /** How far one pool is from another, by their places. */
  private type Far = (Int, Int) => Double

  /** @param spanning how far pools are that an executor may span; None where it may not */
  private def pack(
      pools: Vector[Pool],
      widths: Vector[Int],
      density: Density,
      spanning: Option[Far]
  ): Option[Vector[Vector[Int]]] = {
    val bins = pools.map(bin(_, density))
    val start = Option((bins, Vector.empty[Vector[Int]]))
    widths
      .foldLeft(start) { (state, width) =>
        state.flatMap { case (free, placed) =>
          placeOne(free, width, spanning).map { case (left, cpus) => (left, placed :+ cpus) }
        }
      }
      .map(_._2)
  }

  private def bin(pool: Pool, density: Density): Bin = {
    val groups = pool.cores.groupBy(_.cache).toVector.sortBy(_._2.head.cpus.head).map(_._2)
    Bin(pool.cores.head.packageId, groups.map(_.flatMap(density)))
  }

  private def placeOne(
      bins: Vector[Bin],
      width: Int,
      spanning: Option[Far]
  ): Option[(Vector[Bin], Vector[Int])] = {
    val order = bins.indices.sortBy(i => -bins(i).free).toVector
    if (order.headOption.exists(i => bins(i).free >= width)) {
      val (bin, cpus) = take(bins(order.head), width)
      Some((bins.updated(order.head, bin), cpus))
    } else spanning.flatMap(span(bins, order, width, _))
  }

  private def span(bins: Vector[Bin], order: Vector[Int], width: Int, far: Far) = {
    val packages = order.groupBy(i => bins(i).packageId).values.toVector
    val fitting = packages
      .filter(_.map(bins(_).free).sum >= width)
      .sortBy(p => (-p.map(bins(_).free).sum, p.min))
    val wide = nearest(bins, fitting.headOption.getOrElse(order), width, far)
    val all = (bins, Vector.empty[Int], width)
    val (left, cpus, missing) = wide.foldLeft(all) { case ((free, taken, rest), i) =>
      if (rest <= 0) (free, taken, rest)
      else {
        val want = math.min(rest, free(i).free)
        val (bin, cpus) = take(free(i), want)
        (free.updated(i, bin), taken ++ cpus, rest - want)
      }
    }
    Option.when(missing <= 0)((left, cpus))
  }

  /** As many bins as hold the width, each the nearest to the first; of all firsts the one with the nearest. */
  private def nearest(bins: Vector[Bin], among: Vector[Int], width: Int, far: Far) = {
    val open = among.filter(bins(_).free > 0)
    def from(first: Int) = {
      val order = first +: open.filter(_ != first).sortBy(i => (far(first, i), -bins(i).free))
      order.take(math.max(1, order.scanLeft(0)(_ + bins(_).free).indexWhere(_ >= width)))
    }
    val firsts = open.map(from).filter(_.map(bins(_).free).sum >= width)
    if (firsts.isEmpty) among else firsts.minBy(group => (group.size, Distances.apart(group, far)))
  }

  /**
   * Takes cells for `width` tasks out of a bin that has them, from as few cache groups as possible.
   */
  private def take(bin: Bin, width: Int): (Bin, Vector[Int]) = {
    val order = bin.groups.indices.sortBy(i => -bin.groups(i).iterator.map(_.room).sum).toVector
    val start = (bin.groups, Vector.empty[Int], width)
    val (groups, cpus, _) = order.foldLeft(start) { case ((groups, taken, rest), i) =>
      val used = cellsFor(groups(i), rest)
      val (first, left) = groups(i).splitAt(used)
      (
        groups.updated(i, left),
        taken ++ first.flatMap(_.cpus),
        rest - first.iterator.map(_.room).sum
      )
    }
    (bin.copy(groups = groups), cpus)
  }

  private def cellsFor(cells: Vector[Cell], width: Int): Int =
    if (width <= 0) 0
    else {
      val sums = cells.iterator.scanLeft(0)(_ + _.room).toVector
      sums.indexWhere(_ >= width) match {
        case -1 => cells.size
        case n => n
      }
    }
}
