package io.hearth.core.plan

/** The heap of each executor, in MiB. */
private[plan] object Heaps {

  /** @param options the user's own of the JVMs */
  def of(
      constraints: UserConstraints,
      layout: Layout,
      rooms: Vector[Room],
      options: Vector[String]
  ): Decided[Vector[Long]] = {
    val mb = rooms.map(Memory.heap(constraints, _))
    val notes =
      if (constraints.engineOffHeap) "" else thin(constraints, layout, mb).fold("")("; " + _)
    val largest = mb.forall(_ == Memory.CompressedOopsMb)
    val (because, source) = constraints.heapMb match {
      case Some(fixed) =>
        (s"${fixed.name} fixes it" + tooWide(mb.min, options).fold("")("; " + _), "user")
      case None if constraints.heapHolds.nonEmpty =>
        ("all of the executor's memory: the native engine's data count against it", "hearth")
      case None if largest =>
        (
          "the largest heap with 4-byte object references",
          "Awan 2016; JVM: compressed oops"
        )
      case None if constraints.engineOffHeap =>
        ("about a fourth of the executor's memory: the native engine works off the heap", "hearth")
      case None =>
        (
          "what is left of the executor's memory after overhead, off-heap memory and its part of the page cache",
          "kernel: node meminfo, cgroup"
        )
    }
    Decided(mb, Reason("heap", Sizes.range(mb), because + notes, source))
  }

  /** A heap just above the limit of 4-byte references holds less than one below it. */
  private def tooWide(heapMb: Long, options: Vector[String]): Option[String] = {
    val limit = Memory.compressedOopsLimitMb(options)
    Option.when(heapMb > limit) {
      val below = s"${limit / 1024}g"
      val holds = if (heapMb <= limit * 5 / 4) s"$below holds more" else s"$below may hold as much"
      s"above ${Sizes.exact(limit)} object references take 8 bytes instead of 4: $holds"
    }
  }

  /** What the user fixed may leave a task slot with less than the plan itself would. */
  private def thin(
      constraints: UserConstraints,
      layout: Layout,
      heapsMb: Vector[Long]
  ): Option[String] = {
    val (slots, heapMb) = layout.placements.map(_.slots).zip(heapsMb).maxBy { case (slots, mb) =>
      slots.toDouble / mb
    }
    val tasks = math.max(1, slots / constraints.taskCpus)
    val each = math.max(0L, heapMb - Memory.ReservedMb) / tasks
    Option.when(each < Memory.MinTaskMb && tasks > 1)(
      s"warning: after Spark's reserve, each of $tasks concurrent tasks has $each MB, less than the " +
        s"${Memory.MinTaskMb} MB that a task reads: expect spilling, or give fewer cores or more memory"
    )
  }
}

/** Off-heap memory of each executor, in MiB, the same for all: Spark has one setting for it. */
private[plan] object OffHeap {

  /** Memory beside the heap below which none is planned. */
  val MinRestMb = 8192L

  private val Guide = "Spark: memory management"

  /** Whether an application's data can be off the heap: the operators of SQL alone work there. */
  def takes(kind: WorkloadKind): Boolean = kind == WorkloadKind.Sql || kind == WorkloadKind.Etl

  /**
   * What is left beside heap and page cache, for SQL and ETL, where at least 8 GB are left; of a known input
   * no more than holds it. Half of it, and no more than the heap, where the user fixed the heap.
   */
  def of(
      constraints: UserConstraints,
      workload: Workload,
      heapsMb: Vector[Long],
      rooms: Vector[Room]
  ): Decided[Long] =
    constraints.offHeapMb match {
      case Some(fixed) => decided(fixed.value, s"${fixed.name} fixes it", "user")
      case None =>
        val rest = heapsMb
          .zip(rooms)
          .map { case (heap, room) => room.netMb - constraints.footprintOf(heap) }
          .min + constraints.minOffHeapMb
        if (constraints.engineOffHeap)
          decided(
            rest,
            "all that is left beside heap and page cache, for the native engine",
            "hearth"
          )
        else if (!workload.kind.exists(takes) || rest < MinRestMb)
          decided(0L, "only for sql and etl, where at least 8 GB are left after the heap", Guide)
        else {
          val (mb, size) = part(constraints, workload, heapsMb, rest)
          decided(
            mb,
            s"SQL operators can keep their data off the heap, where the collector does not scan; $size",
            Guide
          )
        }
    }

  private def part(
      constraints: UserConstraints,
      workload: Workload,
      heapsMb: Vector[Long],
      restMb: Long
  ): (Long, String) = {
    val input = workload.inputBytes.map { bytes =>
      val each = (BigInt(bytes) * HeapNeed.PerInputByte >> 20) / heapsMb.size
      each.min(Long.MaxValue).toLong.max(heapsMb.min)
    }
    if (constraints.heapMb.nonEmpty)
      (math.min(restMb / 2, heapsMb.min), "half of what the fixed heap leaves, at most as much")
    else if (input.exists(_ < restMb))
      (input.getOrElse(restMb), "as much as the input needs, at least as much as the heap")
    else (restMb, "all that is left beside heap and page cache")
  }

  private def decided(mb: Long, because: String, source: String) =
    Decided(mb, Reason("off-heap", Sizes.show(mb), because, source))
}

/** Memory of each executor's process beside heap and off-heap memory, in MiB. */
private[plan] object Overhead {

  def of(
      constraints: UserConstraints,
      workload: Workload,
      heapsMb: Vector[Long]
  ): Decided[Vector[Long]] = {
    val mb = heapsMb.map(constraints.overheadOf)
    val python = if (workload.python && constraints.pysparkMb == 0) ", and Python workers" else ""
    val what = s"threads, metaspace, code and direct buffers$python"
    val (because, source) = constraints.overhead.fixedMb match {
      case Some(fixed) => (s"${fixed.name} fixes it, for $what", "user")
      case None =>
        val percent = f"${constraints.overhead.factor * 100}%.0f"
        (
          s"$what: at least ${constraints.overhead.minMb} MB and $percent % of the heap",
          "Spark: spark.executor.memoryOverhead"
        )
    }
    Decided(mb, Reason("overhead", Sizes.range(mb), because, source))
  }
}

/** Memory of all executors that no process takes, in MiB, for the pages of the files they read. */
private[plan] object PageCache {

  def of(
      constraints: UserConstraints,
      workload: Workload,
      heapsMb: Vector[Long],
      rooms: Vector[Room]
  ): Decided[Long] = {
    val mb = heapsMb
      .zip(rooms)
      .map { case (heap, room) =>
        math.max(0L, math.min(room.cacheMb, room.mb - constraints.footprintOf(heap)))
      }
      .sum
    val (because, source) =
      if (constraints.heapMb.nonEmpty) ("what the fixed heap leaves of it", "user")
      else if (workload.inputBytes.nonEmpty)
        ("the input's size, at most a fourth of the executors' memory", "kernel: page cache")
      else
        (
          "a sixth of the executors' memory, as the input is unknown: Spark then has at most 75 % of all",
          "Spark: hardware provisioning"
        )
    Decided(mb, Reason("page cache", s"${Sizes.show(mb)} in all", because, source))
  }
}
