package io.hearth.core.plan

import scala.collection.immutable.HashMap

import io.hearth.core.topology.IdSet

/**
 * CPUs and task slots of an executor, before it has memory.
 *
 * @param sharing of CPUs that it shares with other executors, how many are its part
 */
final private[plan] case class Placement(
    cpus: Vector[Int],
    slots: Int,
    sharing: Option[Int] = None
) {

  /** CPUs by which what the JVM sizes at start is counted. */
  def part: Int = sharing.getOrElse(cpus.size)
}

/**
 * Memory that comes with each executor's CPUs.
 *
 * @param nodes memory nodes of each site
 * @param roomsMb memory, in MiB, that each executor can have, heap and all else included
 */
final private[plan] case class Rooms(nodes: Vector[IdSet], roomsMb: Vector[Long])

/**
 * What an executor's heap is taken from.
 *
 * @param mb memory of the executor, heap and all else included
 * @param cacheMb what of it no process takes: it is left for the pages of the files that are read
 */
final private[plan] case class Room(mb: Long, cacheMb: Long) {
  def netMb: Long = mb - cacheMb
}

private[plan] object Room {

  /**
   * One for each site. The page cache gets as much as the input, at most a fourth of the memory;
   * where the input is unknown, a sixth, so that with what [[Pools.UsablePercent]] leaves Spark has
   * the 75 % of the memory that its hardware guide advises. A comfortable heap, and one in which every
   * task slot has memory, come first. Each task slot gives the same, so that heaps follow slots.
   */
  def of(
      constraints: UserConstraints,
      placements: Vector[Placement],
      roomsMb: Vector[Long],
      workload: Workload
  ): Vector[Room] = {
    val slots = placements.iterator.map(_.slots.toLong).sum
    val inputOfSlot = workload.inputBytes.map(bytes => (bytes >> 20) / slots)
    val perSlot = placements
      .zip(roomsMb)
      .map { case (placement, mb) =>
        val first = constraints.footprintOf(
          math.max(Memory.SoftHeapMb, Memory.ReservedMb + Memory.MinTaskMb * placement.slots) + 1
        )
        val wanted = inputOfSlot.fold(mb / 6)(each => math.min(each * placement.slots, mb / 4))
        math.max(0L, math.min(wanted, mb - first)) / placement.slots
      }
      .min
    placements.zip(roomsMb).map { case (placement, mb) => Room(mb, perSlot * placement.slots) }
  }
}

private[plan] object Memory {

  /** The largest heap that a plan chooses: 31 GB, below every JVM's limit of 4-byte references. */
  val CompressedOopsMb = 31744L

  /**
   * The largest -Xmx with which object references take four bytes: 2^32 times the objects' alignment
   * (8 bytes, or -XX:ObjectAlignmentInBytes), less one null page rounded up to the alignment of heaps,
   * which is 32 MB for G1 (largest region) and smaller for others. Seen on OpenJDK 17: 32736 MB with G1.
   */
  def compressedOopsLimitMb(options: Vector[String]): Long = {
    val alignment =
      JavaOptions.valueOf(options, "ObjectAlignmentInBytes").flatMap(_.toLongOption).getOrElse(8L)
    alignment * 4096 - 32
  }

  /** Heap that Spark reserves for itself (UnifiedMemoryManager). */
  val ReservedMb = 300L

  /** Heap, as the JVM counts it, below which Spark refuses to start: 1.5 times what it keeps. */
  val SparkMinMb: Long = ReservedMb * 3 / 2

  /**
   * Least -Xmx that a plan chooses. The parallel collector counts eight ninths of -Xmx as heap (one
   * survivor space is left out), so Spark's 450 MB need 507.
   */
  val MinHeapMb = 512L

  /** The least -Xmx with which Spark starts, given JVM options that may choose a collector. */
  def minHeapMb(options: Vector[String]): Long = {
    val whole = Set("-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseShenandoahGC")
    if (options.exists(whole)) SparkMinMb else MinHeapMb
  }

  /**
   * Heap beyond Spark's own for which a task slot is planned: the size of the part of a file that
   * one task reads ([[DerivedSettings.PartitionBytes]]). With less, there are fewer slots.
   */
  val MinTaskMb: Long = DerivedSettings.PartitionBytes >> 20

  /** Heap below which fewer, larger executors are planned. */
  val SoftHeapMb = 2048L

  /**
   * Every pool's memory is divided among the executors on it: to each the least that
   * Spark runs in, the rest by task slots (equally where the user fixed the heap). One that spans pools counts in each by
   * its part of CPUs there. The pool with least for a slot decides for all, so that each slot of the
   * plan has as much as any other.
   */
  def rooms(constraints: UserConstraints, pools: Pools, placements: Vector[Placement]): Rooms = {
    val parts = placements.map { placement =>
      val counts = placement.cpus.groupMapReduce(pools.poolOf)(_ => 1)(_ + _)
      // Of whichever map, the order in which shares are added must not change: sums are rounded.
      HashMap.from(counts).map { case (i, count) => i -> count.toDouble / placement.cpus.size }
    }
    val base = constraints.footprintOf(MinHeapMb).toDouble
    val weights =
      placements.map(placement => if (constraints.heapMb.isEmpty) placement.slots.toDouble else 1.0)
    val bases = parts.flatten.groupMapReduce(_._1)(_._2 * base)(_ + _)
    val claims = parts
      .zip(weights)
      .flatMap { case (part, weight) => part.map { case (i, share) => i -> share * weight } }
      .groupMapReduce(_._1)(_._2)(_ + _)
    def perSlot(pool: Int) = (pools.all(pool).memoryMb - bases(pool)) / claims(pool)
    val each = parts.map(_.iterator.map { case (i, share) => perSlot(i) * share }.sum).min
    val nodes = parts.map(part => IdSet.union(part.keysIterator.map(pools.all(_).memoryNodes)))
    Rooms(nodes, weights.map(weight => (base + each * weight).toLong))
  }

  /** Task slots for which there is memory, tasks of more than one slot counted whole. */
  def slotsIn(constraints: UserConstraints, memoryMb: Long): Int =
    math
      .min(Int.MaxValue.toLong, (memoryMb - ReservedMb) / MinTaskMb * constraints.taskCpus)
      .toInt

  /**
   * The heap of an executor: what the user fixed, else what fits beside the page cache, up to
   * compressed references unless an engine's data count against it. A fourth of it, if that is comfortable, where they
   * are off the heap.
   */
  def heap(constraints: UserConstraints, room: Room): Long =
    constraints.heapMb.fold {
      val within = constraints.heapWithin(room.netMb)
      val max = if (constraints.heapHolds.isEmpty) math.min(within, CompressedOopsMb) else within
      if (constraints.engineOffHeap)
        math.min(max, math.max(room.netMb / Engine.HeapsPart, math.min(SoftHeapMb, max / 2)))
      else max
    }(_.value)

  /** The memory that an executor's tasks share. */
  def ofTasks(constraints: UserConstraints, room: Room): Long =
    if (constraints.engineOffHeap && constraints.heapMb.isEmpty) constraints.heapWithin(room.netMb)
    else heap(constraints, room)

  def fits(constraints: UserConstraints, roomMb: Long): Boolean =
    constraints.heapMb.fold(constraints.heapWithin(roomMb) >= MinHeapMb)(h =>
      constraints.footprintOf(h.value) <= roomMb
    )

  /** The least memory of an executor that a plan may contain. */
  def minFootprint(constraints: UserConstraints): Long =
    constraints.footprintOf(constraints.heapMb.fold(MinHeapMb)(_.value))

  /** An executor's memory below which the plan makes fewer executors. */
  def comfortable(constraints: UserConstraints): Long =
    constraints.footprintOf(constraints.heapMb.fold(SoftHeapMb)(_.value))
}
