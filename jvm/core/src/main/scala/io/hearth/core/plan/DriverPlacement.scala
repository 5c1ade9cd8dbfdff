package io.hearth.core.plan

/** The heap of the driver, in MiB. */
final private[plan] case class DriverHeap(mb: Long, reason: Reason)

private[plan] object DriverHeap {

  /** The one JVM is the driver: its heap is the executor's. */
  def ofOneJvm(constraints: UserConstraints, heapMb: Long): DriverHeap =
    decided(constraints, heapMb, "the driver is the one JVM", "Spark: local[n]")

  def ofItsOwn(constraints: UserConstraints, usableMb: Long): DriverHeap = decided(
    constraints,
    DriverPlacement.heap(constraints, usableMb),
    "a sixteenth of the memory, 512 MB to 4 GB; taken from all nodes in proportion",
    "hearth"
  )

  private def decided(constraints: UserConstraints, mb: Long, because: String, source: String) = {
    val asked = constraints.driverHeapMb.map(a => (s"${a.name} fixes it", "user"))
    val (why, from) = asked.getOrElse((because, source))
    DriverHeap(mb, Reason("driver heap", Sizes.show(mb), why, from))
  }
}

/** The driver's heap and where it runs, and why there. */
final private[plan] case class DriverPlacement(plan: DriverPlan, reason: Reason)

private[plan] object DriverPlacement {
  private val MinMb = 512L
  private val MaxMb = 4096L

  /** One sixteenth of the usable memory, between 512 MB and 4 GB, unless the user fixed it. */
  def heap(constraints: UserConstraints, usableMb: Long): Long =
    constraints.driverHeapMb.fold(math.max(MinMb, math.min(MaxMb, usableMb / 16)))(_.value)

  /** The heap plus what a JVM needs in addition. */
  def footprint(constraints: UserConstraints, usableMb: Long): Long = {
    val heapMb = heap(constraints, usableMb)
    heapMb + constraints.driverOverhead.of(heapMb)
  }

  def ofOneJvm(
      usable: UsableMachine,
      pools: Pools,
      heapMb: Long,
      overheadMb: Long
  ): DriverPlacement =
    unbound(usable, pools, heapMb, overheadMb, "the driver is the one JVM")

  /** On the CPUs that executors leave free, else unbound on all of them. */
  def ofItsOwn(
      usable: UsableMachine,
      pools: Pools,
      layout: Layout,
      heapMb: Long,
      overheadMb: Long
  ): DriverPlacement = {
    val left = usable.cpus &~ layout.cpus
    if (left.isEmpty)
      unbound(
        usable,
        pools,
        heapMb,
        overheadMb,
        "executors use every CPU and the driver is idle while they work, so it may run anywhere"
      )
    else
      DriverPlacement(
        DriverPlan(left, pools.memoryNodes, bound = true, heapMb, overheadMb),
        reason(
          s"CPUs $left",
          "on the CPUs that executors leave free, so that neither disturbs the other"
        )
      )
  }

  private def unbound(
      usable: UsableMachine,
      pools: Pools,
      heapMb: Long,
      overheadMb: Long,
      because: String
  ) =
    DriverPlacement(
      DriverPlan(usable.cpus, pools.memoryNodes, bound = false, heapMb, overheadMb),
      reason("unbound", because)
    )

  private def reason(value: String, because: String) = Reason("driver", value, because, "hearth")
}
