package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/** Why executors get the memory that they get. */
final private[plan] class MemoryReasons(draft: PlanDraft, executors: Vector[ExecutorPlan]) {
  import draft._

  def all: Vector[Reason] = Vector(memory, heap, offHeap.reason, overhead.reason, pageCache.reason)

  private def memory = {
    val limit = usable.topology.allowed.memoryLimitBytes
      .fold("")(bytes =>
        s" or of the cgroup's limit (${Sizes.show(bytes >> 20)}), shared in proportion"
      )
    val of = s"${Pools.UsablePercent} % of the memory of nodes ${pools.memoryNodes}$limit"
    val part =
      if (native) of
      else if (constraints.heapMb.isEmpty) s"its share, by task slots, of $of, less the driver's"
      else s"its share of $of, less the driver's"
    val because = s"$part; the rest is for the kernel and other processes"
    Reason(
      "memory",
      s"${Sizes.range(layout.roomsMb)} for ${if (native) "the JVM" else "each executor"}",
      (because +: (if (native) Vector.empty else lent.toVector ++ leftOut)).mkString("; "),
      "kernel: node meminfo, cgroup"
    )
  }

  private def lent = Option.unless(pools.borrowed.isEmpty)(
    s"CPUs of nodes ${pools.borrowed} use the nearest nodes with enough memory"
  )

  /** Which nodes with memory no executor uses, and why; a native JVM is not bound to any. */
  private def leftOut: Vector[String] = {
    val bare = IdSet.from(usable.memoryOnly.flatMap(_.id)) & pools.leftOut
    val poor = pools.leftOut &~ bare
    Vector(
      Option.unless(bare.isEmpty)(
        s"memory of nodes $bare is not used: no executor runs there, it is farther away, and the " +
          "plan has as many task slots without it"
      ),
      Option.unless(poor.isEmpty)(
        s"nodes $poor are not used: each has less memory${unclaimed(poor)} than the smallest executor needs"
      )
    ).flatten
  }

  private def unclaimed(of: IdSet): String = {
    val occupied = usable.topology.allowed.cpus &~ usable.cpus
    val claimed =
      usable.topology.nodes.exists(n => of.contains(n.id) && n.cpus.intersects(occupied))
    if (claimed) " (without the share of occupied CPUs)" else ""
  }

  private def heap = {
    val value = Sizes.range(heapsMb)
    constraints.heapMb match {
      case Some(asked) =>
        val because =
          s"${asked.name} fixes it" + tooWide.fold("")("; " + _) + thin.fold("")("; " + _)
        Reason("heap", value, because, "user")
      case None =>
        val largest = heapsMb.forall(_ == Memory.CompressedOopsMb)
        val because =
          if (largest) "the largest heap with 4-byte object references"
          else
            "what is left of the executor's memory after overhead, off-heap memory and page cache"
        Reason(
          "heap",
          value,
          because + thin.fold("")("; " + _),
          if (largest) "Awan 2016; JVM: compressed oops" else "kernel: node meminfo, cgroup"
        )
    }
  }

  /** A heap just above the limit of 4-byte references holds less than one below it. */
  private def tooWide: Option[String] = {
    val limit = Memory.compressedOopsLimitMb(jvmOptions)
    Option.when(heapMb > limit) {
      val below = s"${limit / 1024}g"
      val holds = if (heapMb <= limit * 5 / 4) s"$below holds more" else s"$below may hold as much"
      s"above ${Sizes.exact(limit)} object references take 8 bytes instead of 4: $holds"
    }
  }

  /** What the user fixed may leave a task slot with less than the plan itself would. */
  private def thin: Option[String] = {
    val most = executors.maxBy(e => e.taskSlots.toDouble / e.heapMb)
    val tasks = math.max(1, most.taskSlots / constraints.taskCpus)
    val each = math.max(0L, most.heapMb - Memory.ReservedMb) / tasks
    Option.when(each < Memory.LeastTaskMb && tasks > 1)(
      s"warning: after Spark's reserve, each of $tasks concurrent tasks has $each MB, less than the " +
        s"${Memory.LeastTaskMb} MB that a task reads: expect spilling, or give fewer cores or more memory"
    )
  }

  private def jvmOptions = allOptions ++ executors.head.javaOptions
}
