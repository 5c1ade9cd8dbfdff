package io.hearth.core.topology

/**
 * A machine as the kernel describes it, and the part of it that this process may use.
 *
 * An immutable snapshot: every decision of hearth is a pure function of it. All ids are the
 * kernel's and may be sparse. Online hardware only. Sizes are bytes.
 *
 * @param source what it was read from: `live`, the path of a capture, or the text of a description
 * @param architecture the machine's name as `uname -m` prints it, where known
 * @param nodes NUMA nodes in id order; a node may have no CPU (memory-only) or no memory
 * @param caches the groups of CPUs that share a last-level cache; empty where unknown
 * @param warnings what was contradictory or missing and how it was interpreted
 * @param processor its model in the kernel's words, where the kernel tells: `POWER9`
 * @param isolated online CPUs over which the kernel's load balancer spreads no threads (`isolcpus`)
 * @param tickless online CPUs that the kernel's timer leaves alone where one thread runs (`nohz_full`)
 */
final case class Topology(
    source: String,
    architecture: Option[String],
    packages: Vector[CpuPackage],
    nodes: Vector[NumaNode],
    caches: Vector[CacheGroup],
    cores: Vector[Core],
    devices: Vector[Device],
    allowed: Allowed,
    warnings: Vector[String],
    processor: Option[String] = None,
    isolated: IdSet = IdSet.empty,
    tickless: IdSet = IdSet.empty
) {

  /** All online CPUs (hardware threads, PUs). */
  lazy val cpus: IdSet = IdSet.union(cores.iterator.map(_.cpus))

  def node(id: Int): Option[NumaNode] = nodes.find(_.id == id)

  /** The node that a CPU belongs to, if the kernel says so. */
  def nodeOf(cpu: Int): Option[NumaNode] = nodeByCpu.get(cpu)

  private lazy val nodeByCpu: Map[Int, NumaNode] =
    nodes.iterator.flatMap(n => n.cpus.iterator.map(_ -> n)).toMap
}

/** A physical package (socket). `dies` holds one entry where the kernel reports no dies. */
final case class CpuPackage(id: Int, cpus: IdSet, dies: Vector[Die])

final case class Die(id: Int, cpus: IdSet)

/**
 * @param cpus online CPUs of the node; empty for a memory-only node
 * @param memoryBytes total memory; 0 for a node without memory
 * @param freeBytes free memory when read; absent in a description
 * @param distances to every node, itself included (10 is local; ACPI SLIT); empty where the kernel's
 *                  are unreadable
 * @param gpuMemory whether this is the memory of a GPU, which no heap should be bound to
 * @param hugePageBytes what of it is set aside as huge pages (`vm.nr_hugepages`), which no heap gets unless it asks
 * @param tier how fast the memory of a node without CPUs is; absent where the kernel does not say
 */
final case class NumaNode(
    id: Int,
    cpus: IdSet,
    memoryBytes: Long,
    freeBytes: Option[Long],
    distances: Map[Int, Int],
    gpuMemory: Boolean = false,
    hugePageBytes: Long = 0L,
    tier: Option[MemoryTier] = None
)

final case class CacheGroup(level: Int, sizeBytes: Option[Long], cpus: IdSet)

/**
 * @param id the kernel's core_id, unique only within its package and die
 * @param cpus its online hardware threads (SMT siblings)
 * @param kind the kernel's core type on a hybrid machine, such as `cpu_core`, `cpu_atom`
 * @param efficient whether it is one of the slower cores of a hybrid machine
 */
final case class Core(
    id: Int,
    packageId: Int,
    dieId: Int,
    cpus: IdSet,
    kind: Option[String],
    efficient: Boolean = false
)

/** @param node the NUMA node it is attached to, absent where the kernel says -1 or nothing */
final case class Device(name: String, kind: DeviceKind, node: Option[Int], localCpus: Option[IdSet])

sealed abstract class DeviceKind(val name: String)
object DeviceKind {
  case object Network extends DeviceKind("network")
  case object InfiniBand extends DeviceKind("infiniband")
  case object Block extends DeviceKind("block")
  case object Gpu extends DeviceKind("gpu")
  val all: Vector[DeviceKind] = Vector(Network, InfiniBand, Block, Gpu)
}

/**
 * What this process may use: scheduler affinity and the cpuset of its cgroup (v1 or v2), intersected
 * with what is online.
 *
 * @param nodes memory nodes that it may allocate on
 * @param memoryLimitBytes the tightest memory limit of its cgroup and that group's ancestors, or of the
 *                         container whose `/proc/meminfo` it sees
 * @param cpuQuota the tightest CPU quota of its cgroup and that group's ancestors
 * @param taskLimits of its cgroup and of its user
 * @param batch what a batch system has given it, whether the kernel holds it to that or not
 */
final case class Allowed(
    cpus: IdSet,
    nodes: IdSet,
    memoryLimitBytes: Option[Long],
    cpuQuota: Option[CpuQuota] = None,
    taskLimits: Vector[TaskLimit] = Vector.empty,
    batch: Vector[BatchLimit] = Vector.empty
) {

  /** The tightest limit of memory, in bytes, and what sets it. */
  def memoryLimit: Option[(Long, String)] =
    (memoryLimitBytes.map(_ -> "the cgroup's limit") ++
      batch.flatMap(limit => limit.memoryBytes.map(_ -> limit.name))).minByOption(_._1)

  /** The same with another limit, where that is tighter. */
  private[topology] def within(limit: Option[Long]): Allowed =
    copy(memoryLimitBytes = (memoryLimitBytes ++ limit).minOption)
}
