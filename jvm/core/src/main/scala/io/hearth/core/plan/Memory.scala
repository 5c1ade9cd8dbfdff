package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/** CPUs and task slots of an executor, before it has memory. */
final private[plan] case class Site(cpus: Vector[Int], slots: Int)

/**
 * Memory that comes with each executor's CPUs.
 *
 * @param nodes memory nodes of each site
 * @param roomMb memory, in MiB, that every executor can have, heap and all else included
 */
final private[plan] case class Rooms(nodes: Vector[IdSet], roomMb: Long)

private[plan] object Memory {

  /** -Xmx above which object references take eight bytes; a little below 32 GB by the JVM's alignment. */
  val CompressedOopsMb = 31744L

  /** Spark keeps 300 MB of any heap to itself and refuses one below 1.5 times that. */
  val LeastHeapMb = 512L

  /** Heap below which fewer, larger executors are planned. */
  val SoftHeapMb = 2048L

  /**
   * Every pool's memory is divided equally among the executors on it, one that spans pools counting
   * in each by its part of CPUs there; the least is what every executor gets, so all are alike and
   * no pool holds more than it has.
   */
  def rooms(pools: Pools, sites: Vector[Site]): Rooms = {
    val poolOf = pools.all.iterator.zipWithIndex.flatMap { case (pool, i) =>
      pool.cores.iterator.flatMap(_.cpus).map(_ -> i)
    }.toMap
    val parts = sites.map { site =>
      site.cpus.groupBy(poolOf).map { case (i, own) => i -> own.size.toDouble / site.cpus.size }
    }
    val claims = parts.flatten.groupMapReduce(_._1)(_._2)(_ + _)
    val rooms =
      parts.map(_.iterator.map { case (i, part) => pools.all(i).memoryMb * part / claims(i) }.sum)
    val nodes = parts.map(part => IdSet.union(part.keysIterator.map(pools.all(_).memoryNodes)))
    Rooms(nodes, rooms.min.toLong)
  }

  /** The heap of every executor: what the user fixed, else what fits, up to compressed references. */
  def heap(fixed: Fixed, roomMb: Long): Long =
    fixed.heapMb.fold(math.min(fixed.heapWithin(roomMb), CompressedOopsMb))(_.value)

  def fits(fixed: Fixed, roomMb: Long): Boolean =
    fixed.heapMb.fold(fixed.heapWithin(roomMb) >= LeastHeapMb)(h =>
      fixed.footprintOf(h.value) <= roomMb
    )

  /** Least memory of an executor that the plan may make. */
  def least(fixed: Fixed): Long = fixed.footprintOf(fixed.heapMb.fold(LeastHeapMb)(_.value))

  /** Memory of an executor for which the plan does not make fewer of them. */
  def comfortable(fixed: Fixed): Long = fixed.footprintOf(fixed.heapMb.fold(SoftHeapMb)(_.value))

  /**
   * Off-heap memory: half of what is left beside a heap, at most as much as the heap, for SQL and ETL
   * (whose operators can work off the heap) where at least 8 GB are left; else what the user set.
   */
  def offHeap(fixed: Fixed, workload: Workload, heapMb: Long, roomMb: Long): Long =
    fixed.offHeapMb match {
      case Some(asked) => asked.value
      case None =>
        val rest = roomMb - fixed.footprintOf(heapMb)
        val tabular = workload.kind.exists(k => k == WorkloadKind.Sql || k == WorkloadKind.Etl)
        if (tabular && rest >= 8192) math.min(rest / 2, heapMb) else 0L
    }
}
