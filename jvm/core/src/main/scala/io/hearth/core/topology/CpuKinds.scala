package io.hearth.core.topology

/**
 * Core types of a hybrid machine, by CPU; empty where all cores are alike. Sources, in this order: the
 * kernel's performance-monitoring units (x86: `cpu_core`, `cpu_atom`), the part number in
 * `/proc/cpuinfo` (Arm), the scheduler's `cpu_capacity`.
 */
final private[topology] class CpuKinds(tree: SysTree, info: CpuInfo) {

  def read(cpus: IdSet): Map[Int, String] =
    Iterator(byMonitor _, byPart _, byCapacity _).map(_(cpus)).find(severalIn).getOrElse(Map.empty)

  /** The slower ones of a hybrid machine: by name, else by the scheduler's capacity. */
  def efficient(kinds: Map[Int, String]): Set[Int] = {
    val named = kinds.collect { case (cpu, kind) if CpuKinds.Efficient(kind) => cpu }.toSet
    if (named.nonEmpty || !severalIn(kinds)) named
    else {
      val capacities = kinds.keysIterator
        .flatMap(cpu => tree.int(s"sys/devices/system/cpu/cpu$cpu/cpu_capacity").map(cpu -> _))
        .toMap
      val max = capacities.valuesIterator.maxOption.getOrElse(0)
      capacities.collect {
        case (cpu, capacity) if capacity.toLong * 100 < max.toLong * CpuKinds.SlowerPercent => cpu
      }.toSet
    }
  }

  private def severalIn(kinds: Map[Int, String]): Boolean = kinds.valuesIterator.toSet.size > 1

  private def byMonitor(cpus: IdSet): Map[Int, String] =
    (for {
      name <- tree.names("sys/devices")
      if name.startsWith("cpu_")
      cpu <- tree.list(s"sys/devices/$name/cpus").getOrElse(IdSet.empty).iterator
      if cpus.contains(cpu)
    } yield cpu -> name).toMap

  private def byPart(cpus: IdSet): Map[Int, String] = (for {
    cpu <- cpus.iterator
    maker <- info.field(cpu, "CPU implementer")
    part <- info.field(cpu, "CPU part")
  } yield cpu -> s"arm_${maker}_$part").toMap

  private def byCapacity(cpus: IdSet): Map[Int, String] = (for {
    cpu <- cpus.iterator
    capacity <- tree.int(s"sys/devices/system/cpu/cpu$cpu/cpu_capacity")
  } yield cpu -> s"capacity_$capacity").toMap
}

private[topology] object CpuKinds {

  /** Intel's names of the kernel's performance-monitoring units of slower cores. */
  private val Efficient = Set("cpu_atom", "cpu_lowpower")

  /** Of the fastest core's capacity: favoured cores of one kind differ by a few percent. */
  private val SlowerPercent = 85L
}
