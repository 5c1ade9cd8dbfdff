package io.hearth.core.topology

import io.hearth.core.Counted
import io.hearth.core.{Brief, UserError}

/**
 * A machine described in one line: `2 packages, 4 nodes of 128 GB, 6 cores x 8 threads`.
 *
 * Clauses in any order, separated by commas, in upper or lower case, singular or plural:
 * {{{
 * N packages                      1 where left out; `sockets` is understood too
 * N nodes of SIZE                 NUMA nodes of the whole machine with the memory of each; where left
 *                                 out, each package is one node: N packages of SIZE
 * N cores [x M threads]           cores of each node (not of each package: `per socket`) and threads of
 *                                 each core (1)
 * SIZE                            the memory of the whole machine, in equal parts on its nodes
 * N memory-only nodes of SIZE     nodes without CPUs, numbered after the others
 * distance D                      from every node to every other
 * distance D within package, E across
 * distances D D D / D D D / ...   the whole table, one row for each node
 * NAME on node N                  a network device and the node that it is attached to; the first node is 0
 * l3 of N cores                   groups of cores within a node that share a last-level cache
 * x86 | POWER | Arm               the architecture; decides how CPUs are numbered
 * }}}
 *
 * SIZE is a number with MB, GB or TB, as memory modules count: 1 GB = 1 GiB = 2^30 bytes. Without
 * distances a node is at 10 from itself and at 20 from the others, as Linux assumes when firmware
 * provides none. CPUs are numbered as Linux does it: on x86 (and where no architecture is given)
 * the first threads of all cores, then all second ones; on POWER and Arm the threads of a core
 * follow one another.
 */
object MachineSpec {

  val Grammar: String =
    "N packages (or sockets), N nodes of SIZE, N cores x M threads (of each node, or: per socket), " +
      "N memory-only nodes of SIZE, distance D [within package, D across], " +
      "distances D D / D D, l3 of N cores, NAME on node N (a network device), x86 | POWER | Arm"

  /**
   * @throws UserError naming the word that does not parse, or the clauses that contradict each
   * other
   */
  def parse(text: String): Topology =
    build(new SpecParser(text).parse().concluded(problem => refuse(text, problem)), text)

  private[topology] def refuse(text: String, problem: String): Nothing =
    throw new UserError(
      s"machine description '${Brief(text)}' does not fit: ${Brief(problem, 300)}; write $Grammar"
    )

  private def build(shape: Shape, text: String): Topology = {
    val cores = shape.coreCpus
    def cpusOf(range: Range) = IdSet.union(range.iterator.map(cores))
    def parts(count: Int) = {
      val size = cores.size / count
      Vector.tabulate(count)(i => i * size until (i + 1) * size)
    }
    val packages = parts(shape.packages).zipWithIndex.map { case (range, id) =>
      CpuPackage(id, cpusOf(range), Vector(Die(0, cpusOf(range))))
    }
    val nodeCpus = parts(shape.nodes).map(cpusOf) ++ Vector.fill(shape.memoryOnly)(IdSet.empty)
    val nodes = nodeCpus.zipWithIndex.map { case (cpus, id) =>
      val memory = if (id < shape.nodes) shape.nodeBytes else shape.memoryOnlyBytes
      NumaNode(id, cpus, memory, None, shape.distances(id).zipWithIndex.map(_.swap).toMap)
    }
    val caches = shape.cacheCores.toVector.flatMap { size =>
      parts(cores.size / size).map(range => CacheGroup(3, None, cpusOf(range)))
    }
    val perPackage = cores.size / shape.packages
    Topology(
      text,
      shape.architecture,
      packages,
      nodes,
      caches,
      cores.zipWithIndex.map { case (cpus, i) =>
        Core(i % perPackage, i / perPackage, 0, cpus, None)
      },
      shape.devices.map { case (name, node) =>
        Device(name, DeviceKind.Network, Some(node), Some(nodeCpus(node)).filter(_.nonEmpty))
      },
      Allowed(
        IdSet.from(0 until cores.size * shape.threads),
        IdSet.from(nodes.map(_.id)),
        None
      ),
      Vector.empty
    )
  }
}

/** A described machine whose parts fit together. Cores are ordered by package and node. */
final private[topology] case class Shape(
    packages: Int,
    nodes: Int,
    nodeBytes: Long,
    coresPerNode: Int,
    threads: Int,
    memoryOnly: Int,
    memoryOnlyBytes: Long,
    distances: Vector[Vector[Int]],
    cacheCores: Option[Int],
    architecture: Option[String],
    devices: Vector[(String, Int)]
) {
  private def threadsTogether = architecture.exists(Set("ppc64le", "aarch64"))

  def coreCpus: Vector[IdSet] = {
    val cores = nodes * coresPerNode
    Vector.tabulate(cores) { core =>
      if (threadsTogether) IdSet.from(core * threads until (core + 1) * threads)
      else IdSet.from(Iterator.tabulate(threads)(thread => thread * cores + core))
    }
  }
}

/** The distances as written. */
sealed abstract private[topology] class SpecDistances
private[topology] object SpecDistances {
  final case class Uniform(remote: Int) extends SpecDistances
  final case class Two(within: Int, across: Int) extends SpecDistances
  final case class Table(rows: Vector[Vector[Int]]) extends SpecDistances

  /** As Linux assumes without firmware tables (include/linux/topology.h: REMOTE_DISTANCE). */
  val default: SpecDistances = Uniform(20)
}

/** The clauses as written, each at most once. */
final private[topology] case class Clauses(
    packages: Option[Int] = None,
    packageBytes: Option[Long] = None,
    totalBytes: Option[Long] = None,
    nodes: Option[Int] = None,
    nodeBytes: Option[Long] = None,
    cores: Option[Int] = None,
    perPackage: Boolean = false,
    threads: Option[Int] = None,
    memoryOnly: Option[(Int, Long)] = None,
    distances: Option[SpecDistances] = None,
    cacheCores: Option[Int] = None,
    architecture: Option[String] = None,
    devices: Vector[(String, Int)] = Vector.empty
) {

  /** Fills in the defaults and checks that the parts fit. */
  def concluded(refuse: String => Nothing): Shape = {
    val packageCount = packages.getOrElse(1)
    val nodeCount = nodes.getOrElse(packageCount)
    val coreCount = coresOfNode(packageCount, nodeCount, refuse)
    val threadCount = threads.getOrElse(1)
    val total = nodeCount.toLong * coreCount * threadCount
    if (total > IdSet.MaxId + 1L)
      refuse(s"$total CPUs exceed the ${IdSet.MaxId + 1} that hearth supports")
    val allNodes = nodeCount.toLong + memoryOnly.fold(0)(_._1)
    if (allNodes > NodeReader.MostNodes)
      refuse(s"$allNodes NUMA nodes exceed the ${NodeReader.MostNodes} that Linux supports")
    if (totalBytes.nonEmpty && nodeBytes.orElse(packageBytes).nonEmpty)
      refuse("the memory is given twice: leave out that of the whole machine")
    if (packageBytes.nonEmpty && nodes.nonEmpty)
      refuse("the memory is given with the packages: with nodes, write 'nodes of SIZE'")
    if (nodeCount * coreCount % packageCount != 0 || !dividing(nodeCount, packageCount))
      refuse(
        s"${Counted(nodeCount, "node")} of ${Counted(coreCount, "core")} cannot be divided evenly among " +
          Counted(packageCount, "package")
      )
    cacheCores.filter(coreCount % _ != 0).foreach { size =>
      refuse(
        s"${Counted(coreCount, "core")} of a node cannot be divided evenly into caches of ${Counted(size, "core")}"
      )
    }
    devices.filter(_._2 >= allNodes).foreach { case (name, node) =>
      refuse(
        s"$name is on node $node, and the machine has ${IdSet.from(0 until allNodes.toInt).named("node")}"
      )
    }
    Shape(
      packageCount,
      nodeCount,
      nodeBytes
        .orElse(packageBytes)
        .orElse(totalBytes.map(_ / nodeCount))
        .getOrElse(refuse("the memory is missing: 'nodes of 128 GB'")),
      coreCount,
      threadCount,
      memoryOnly.fold(0)(_._1),
      memoryOnly.fold(0L)(_._2),
      distanceTable(packageCount, nodeCount, refuse),
      cacheCores,
      architecture,
      devices
    )
  }

  private def coresOfNode(packageCount: Int, nodeCount: Int, refuse: String => Nothing): Int = {
    val named = cores.getOrElse(refuse("the cores are missing, such as '6 cores'"))
    val all = named.toLong * packageCount
    if (!perPackage) named
    else if (all % nodeCount == 0) (all / nodeCount).toInt
    else
      refuse(
        s"${Counted(named, "core")} of each package cannot be divided evenly among ${Counted(nodeCount, "node")}"
      )
  }

  private def dividing(a: Int, b: Int) = a % b == 0 || b % a == 0

  private def distanceTable(packageCount: Int, nodeCount: Int, refuse: String => Nothing) = {
    val all = nodeCount + memoryOnly.fold(0)(_._1)
    val perPackage = math.max(1, nodeCount / packageCount)
    def together(a: Int, b: Int) =
      a < nodeCount && b < nodeCount && a / perPackage == b / perPackage
    distances.getOrElse(SpecDistances.default) match {
      case SpecDistances.Uniform(remote) =>
        Vector.tabulate(all, all)((a, b) => if (a == b) 10 else remote)
      case SpecDistances.Two(within, across) =>
        Vector.tabulate(all, all) { (a, b) =>
          if (a == b) 10 else if (together(a, b)) within else across
        }
      case SpecDistances.Table(rows) =>
        if (rows.size != all || rows.exists(_.size != all))
          refuse(
            s"the distances have ${rows.size} rows of ${rows.map(_.size).distinct.mkString(", ")} " +
              s"values: $all rows of $all values are needed, one for each node"
          )
        rows.zipWithIndex.foreach { case (row, id) =>
          if (row(id) != NodeReader.LocalDistance)
            refuse(s"node $id is at ${row(id)} from itself: ${NodeReader.LocalDistance} is needed")
        }
        rows
    }
  }
}
