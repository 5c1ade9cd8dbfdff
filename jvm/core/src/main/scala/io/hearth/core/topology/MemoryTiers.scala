package io.hearth.core.topology

/** How fast the memory of a node without CPUs is, beside that of nodes with CPUs. */
sealed abstract class MemoryTier(val name: String)

object MemoryTier {

  /** As HBM is. */
  case object Faster extends MemoryTier("faster")

  /** As memory behind CXL is. */
  case object Slower extends MemoryTier("slower")
  case object Alike extends MemoryTier("alike")
  val all: Vector[MemoryTier] = Vector(Faster, Slower, Alike)
}

/**
 * Reads it of the kernel: what the firmware says of the best CPUs' way to a node
 * (Documentation/admin-guide/mm/numaperf.rst), else the kernel's own order of memory
 * (Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers). Distances do not tell: HBM may be farther
 * by them than the memory that it outruns.
 */
final private[topology] class MemoryTiers(tree: SysTree) {
  import MemoryTiers._

  def judged(nodes: Vector[NumaNode]): Vector[NumaNode] = {
    val cpus = nodes.filter(node => node.cpus.nonEmpty && node.memoryBytes > 0).map(_.id)
    nodes.map { node =>
      val bare = node.cpus.isEmpty && node.memoryBytes > 0 && !node.gpuMemory
      if (bare) node.copy(tier = byFirmware(node.id, cpus).orElse(byKernel(node.id, cpus)))
      else node
    }
  }

  private def byFirmware(id: Int, cpus: Vector[Int]): Option[MemoryTier] = {
    def beside(file: String) = for {
      ofNode <- measure(id, file)
      other <- cpus.flatMap(measure(_, file)).maxOption
    } yield ofNode.toDouble / other
    beside("read_bandwidth").map { wider =>
      if (wider > Clearly) MemoryTier.Faster
      else if (wider * Clearly < 1 || beside("read_latency").exists(_ > Clearly)) MemoryTier.Slower
      else MemoryTier.Alike
    }
  }

  /** Of CPUs alone where the kernel tells them from other devices that reach the node. */
  private def measure(id: Int, file: String): Option[Long] = Vector("access1", "access0")
    .flatMap(access => tree.line(s"$Nodes/node$id/$access/initiators/$file"))
    .flatMap(_.toLongOption)
    .find(_ > 0)

  /** The lower the number of a tier, the faster its memory. */
  private def byKernel(id: Int, cpus: Vector[Int]): Option[MemoryTier] = for {
    ofNode <- tierOf(id)
    other <- cpus.flatMap(tierOf).minOption
  } yield
    if (ofNode < other) MemoryTier.Faster
    else if (ofNode > other) MemoryTier.Slower
    else MemoryTier.Alike

  private def tierOf(id: Int): Option[Int] = tiers.collectFirst {
    case (tier, nodes) if nodes.contains(id) => tier
  }

  private lazy val tiers: Vector[(Int, IdSet)] = for {
    tier <- tree.ids(Kernels, "memory_tier").toVector
    nodes <- tree.list(s"$Kernels/memory_tier$tier/nodelist").toVector
  } yield tier -> nodes
}

private[topology] object MemoryTiers {
  private val Nodes = "sys/devices/system/node"
  private val Kernels = "sys/devices/virtual/memory_tiering"

  /** By a tenth, as firmware's figures are rough; hearth's own figure. */
  private val Clearly = 1.1

  /** What a capture holds of it. */
  def files(tree: SysTree): Vector[String] = {
    val ofNodes = for {
      node <- tree.ids(Nodes, "node").toVector
      access <- Vector("access0", "access1")
      file <- Vector("read_bandwidth", "read_latency")
    } yield s"$Nodes/node$node/$access/initiators/$file"
    ofNodes ++
      tree.ids(Kernels, "memory_tier").toVector.map(t => s"$Kernels/memory_tier$t/nodelist")
  }
}
