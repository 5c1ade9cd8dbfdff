package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/** The driver's heap and where it runs. */
private[plan] object DriverPlacement {
  private val MinMb = 512L
  private val MaxMb = 4096L

  /** One sixteenth of the usable memory, between 512 MB and 4 GB, unless the user fixed it. */
  private def heapMb(constraints: UserConstraints, usableMb: Long): Long =
    constraints.driverHeapMb.fold(math.max(MinMb, math.min(MaxMb, usableMb / 16)))(_.value)

  /** The heap plus what a JVM needs in addition. */
  def footprint(constraints: UserConstraints, usableMb: Long): Long = {
    val heap = heapMb(constraints, usableMb)
    heap + constraints.driverOverhead.of(heap)
  }

  /** @param oneJvm the heap of the one JVM, which is the driver, where there is one */
  def heap(constraints: UserConstraints, usableMb: Long, oneJvm: Option[Long]): Decided[Long] = {
    val mb = oneJvm.getOrElse(heapMb(constraints, usableMb))
    val (because, source) = (constraints.driverHeapMb, oneJvm) match {
      case (Some(asked), _) => (s"${asked.name} fixes it", "user")
      case (None, Some(_)) => (OneJvm, "Spark: local[n]")
      case (None, None) =>
        ("a sixteenth of the memory, 512 MB to 4 GB; taken from all nodes in proportion", "hearth")
    }
    Decided(mb, Reason("driver heap", Sizes.show(mb), because, source))
  }

  private val OneJvm = "the driver is the one JVM"

  /** On the CPUs that executors leave free, else unbound on all of them. */
  def of(
      usable: UsableMachine,
      memoryNodes: IdSet,
      executorsCpus: IdSet,
      oneJvm: Boolean,
      heapMb: Long,
      overheadMb: Long
  ): Decided[DriverPlan] = {
    val left = usable.cpus &~ executorsCpus
    val bound = !oneJvm && left.nonEmpty
    val because =
      if (oneJvm) OneJvm
      else if (bound) "on the CPUs that executors leave free, so that neither disturbs the other"
      else "executors use every CPU and the driver is idle while they work, so it may run anywhere"
    val cpus = if (bound) left else usable.cpus
    Decided(
      DriverPlan(cpus, memoryNodes, bound, heapMb, overheadMb),
      Reason("driver", if (bound) s"CPUs $left" else "unbound", because, "hearth")
    )
  }
}
