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
 * N efficient cores               slower cores of each node, of one thread, beside the others
 * N nodes without memory
 * N memory-only nodes of SIZE     nodes without CPUs, numbered after the others
 * N GPU nodes of SIZE             the memory of GPUs, which no executor is bound to
 * nodes 0,8-9 ...                 the numbers of nodes, in place of how many there are; the clauses of
 *                                 nodes may be repeated
 * cpus 0-3,8-11 / 4-7,12-15       the CPUs of each node that has some
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
    "N packages (or sockets), N nodes of SIZE (or: without memory; nodes 0,8 of SIZE), " +
      "N cores x M threads (of each node, or: per socket), N efficient cores, N memory-only nodes of SIZE, " +
      "N GPU nodes of SIZE, cpus 0-3 / 4-7, distance D [within package, D across], " +
      "distances D D / D D, l3 of N cores, NAME on node N (a network device), x86 | POWER | Arm"

  /**
   * @throws UserError naming the word that does not parse, or the clauses that contradict each
   * other
   */
  def parse(text: String): Topology =
    build(new Conclusion(new SpecParser(text).parse(), refuse(text, _)).shape, text)

  /** As written: within and across packages, or the whole table. */
  private[topology] type SpecDistances = Either[(Int, Int), Vector[Vector[Int]]]

  /** As Linux assumes without firmware tables (include/linux/topology.h: REMOTE_DISTANCE). */
  private[topology] val DefaultDistances: SpecDistances = Left((20, 20))

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
    val cpusByNode = shape.working.map(_.id).zip(parts(shape.working.size).map(cpusOf)).toMap
    val ids = shape.nodes.map(_.id)
    val nodes = shape.nodes.zip(shape.distances).map { case (node, row) =>
      val cpus = cpusByNode.getOrElse(node.id, IdSet.empty)
      NumaNode(node.id, cpus, node.bytes, None, ids.zip(row).toMap, node.gpu)
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
        val efficient = i % shape.coresOfNode >= shape.cores
        val kind = Option.when(shape.efficient > 0)(if (efficient) "efficient" else "performance")
        Core(i % perPackage, i / perPackage, 0, cpus, kind, efficient)
      },
      shape.devices.map { case (name, node) =>
        Device(name, DeviceKind.Network, Some(node), cpusByNode.get(node))
      },
      Allowed(
        IdSet.union(cores),
        IdSet.from(nodes.map(_.id)),
        None
      ),
      Vector.empty
    )
  }
}

/**
 * Nodes of one clause.
 *
 * @param ids how many there are, from 0 on, where they are `counted`; else their numbers
 */
final private[topology] case class SpecNodes(
    ids: IdSet,
    counted: Boolean,
    bytes: Option[Long],
    bare: Boolean,
    gpu: Boolean
)

final private[topology] case class SpecNode(id: Int, bytes: Long, bare: Boolean, gpu: Boolean)

/**
 * A described machine whose parts fit together. Cores are ordered by package and node.
 *
 * @param nodes in id order
 * @param cores of each node, without the efficient ones
 */
final private[topology] case class Shape(
    packages: Int,
    nodes: Vector[SpecNode],
    cores: Int,
    efficient: Int,
    threads: Int,
    cpus: Option[Vector[IdSet]],
    distances: Vector[Vector[Int]],
    cacheCores: Option[Int],
    architecture: Option[String],
    devices: Vector[(String, Int)]
) {
  val working: Vector[SpecNode] = nodes.filterNot(_.bare)
  val coresOfNode: Int = cores + efficient

  private def threadsTogether = efficient > 0 || architecture.exists(Set("ppc64le", "aarch64"))

  def coreCpus: Vector[IdSet] = {
    val size = cores * threads + efficient
    def numbered(node: Int) =
      if (threadsTogether) IdSet.from(node * size until (node + 1) * size)
      else
        IdSet.union(Vector.tabulate(threads) { thread =>
          val first = (thread * working.size + node) * cores
          IdSet.from(first until first + cores)
        })
    cpus.getOrElse(Vector.tabulate(working.size)(numbered)).flatMap(coresIn)
  }

  private def coresIn(node: IdSet): Vector[IdSet] = {
    val (fast, slow) = node.toVector.splitAt(cores * threads)
    val step = if (threadsTogether) 1 else cores
    Vector.tabulate(cores) { core =>
      val first = if (threadsTogether) core * threads else core
      IdSet.from(Vector.tabulate(threads)(thread => fast(first + thread * step)))
    } ++ slow.map(IdSet(_))
  }
}

/** The clauses as written, each at most once but those of nodes. */
final private[topology] case class Clauses(
    packages: Option[Int] = None,
    packageBytes: Option[Long] = None,
    totalBytes: Option[Long] = None,
    nodes: Vector[SpecNodes] = Vector.empty,
    cores: Option[Int] = None,
    efficient: Option[Int] = None,
    perPackage: Boolean = false,
    threads: Option[Int] = None,
    cpus: Option[Vector[IdSet]] = None,
    distances: Option[MachineSpec.SpecDistances] = None,
    cacheCores: Option[Int] = None,
    architecture: Option[String] = None,
    devices: Vector[(String, Int)] = Vector.empty
)

/** Fills in the defaults and checks that the parts fit. */
final private[topology] class Conclusion(clauses: Clauses, refuse: String => Nothing) {
  import clauses._

  private val packageCount = packages.getOrElse(1)
  private val named = cores.getOrElse(refuse("the cores are missing, such as '6 cores'"))
  private val all = numbered
  private val nodeCount = all.count(!_.bare)

  def shape: Shape = {
    val fast = coresOfNode(named)
    val slow = coresOfNode(efficient.getOrElse(0))
    checkCpus(fast.toLong * threads.getOrElse(1) + slow)
    checkDivision(fast + slow)
    devices.filterNot(device => all.exists(_.id == device._2)).foreach { case (name, node) =>
      refuse(
        s"$name is on node $node, and the machine has ${IdSet.from(all.map(_.id)).named("node")}"
      )
    }
    Shape(
      packageCount,
      all,
      fast,
      slow,
      threads.getOrElse(1),
      cpus,
      distanceTable,
      cacheCores,
      architecture,
      devices
    )
  }

  /** The nodes in id order; those without a number follow, at last those without CPUs. */
  private def numbered: Vector[SpecNode] = {
    val (bare, named) = nodes.partition(_.bare)
    val working =
      if (named.nonEmpty) named
      else Vector(SpecNodes(IdSet.from(0 until packageCount), counted = true, None, false, false))
    val count = (working ++ bare).map(_.ids.size.toLong).sum
    if (count > NodeReader.MaxNodes)
      refuse(s"$count NUMA nodes exceed the ${NodeReader.MaxNodes} that Linux supports")
    val shared = sharedMemory(working)
    val all = (working ++ bare).foldLeft(Vector.empty[SpecNode]) { (done, group) =>
      val first = if (group.counted) done.map(_.id).maxOption.fold(0)(_ + 1) else 0
      done ++ group.ids.iterator.map(id =>
        SpecNode(first + id, group.bytes.getOrElse(shared), group.bare, group.gpu)
      )
    }
    all.map(_.id).diff(all.map(_.id).distinct).foreach(id => refuse(s"node $id is given twice"))
    if (all.forall(_.bytes == 0)) refuse("no node has memory")
    all.sortBy(_.id)
  }

  /** What each node has that is given no memory of its own. */
  private def sharedMemory(working: Vector[SpecNodes]): Long = {
    val sharing = working.filter(_.bytes.isEmpty).map(_.ids.size).sum
    if (totalBytes.nonEmpty && (sharing == 0 || packageBytes.nonEmpty))
      refuse("the memory is given twice: leave out that of the whole machine")
    if (packageBytes.nonEmpty && nodes.exists(!_.bare))
      refuse("the memory is given with the packages: with nodes, write 'nodes of SIZE'")
    if (sharing == 0) 0L
    else
      packageBytes
        .orElse(totalBytes.map(_ / sharing))
        .getOrElse(refuse("the memory is missing: 'nodes of 128 GB'"))
  }

  private def checkDivision(coreCount: Int): Unit = {
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
  }

  private def checkCpus(each: Long): Unit = {
    if (nodeCount * each > IdSet.MaxId + 1L)
      refuse(s"${nodeCount * each} CPUs exceed the ${IdSet.MaxId + 1} that hearth supports")
    cpus.foreach { rows =>
      if (rows.size != nodeCount || rows.exists(_.size != each))
        refuse(
          s"the CPUs are ${rows.map(_.size).mkString(" / ")}: ${Counted(nodeCount, "node")} of " +
            s"${Counted(each, "CPU")} are described"
        )
      if (IdSet.union(rows).size != nodeCount * each) refuse("two nodes have the same CPU")
    }
  }

  private def coresOfNode(count: Int): Int = {
    val ofAll = count.toLong * packageCount
    if (!perPackage) count
    else if (ofAll % nodeCount == 0) (ofAll / nodeCount).toInt
    else
      refuse(
        s"${Counted(count, "core")} of each package cannot be divided evenly among ${Counted(nodeCount, "node")}"
      )
  }

  private def dividing(a: Int, b: Int) = a % b == 0 || b % a == 0

  private def distanceTable: Vector[Vector[Int]] = {
    val size = all.size
    val working = all.indices.filterNot(all(_).bare)
    val perPackage = math.max(1, working.size / packageCount)
    val home = working.zipWithIndex.map { case (at, n) => at -> n / perPackage }.toMap
    distances.getOrElse(MachineSpec.DefaultDistances) match {
      case Left((within, across)) =>
        Vector.tabulate(size, size) { (a, b) =>
          if (a == b) NodeReader.LocalDistance
          else if (home.contains(a) && home.get(a) == home.get(b)) within
          else across
        }
      case Right(rows) => checkedRows(rows)
    }
  }

  private def checkedRows(rows: Vector[Vector[Int]]): Vector[Vector[Int]] = {
    val size = all.size
    if (rows.size != size || rows.exists(_.size != size))
      refuse(
        s"the distances have ${rows.size} rows of ${rows.map(_.size).distinct.mkString(", ")} " +
          s"values: $size rows of $size values are needed, one for each node"
      )
    for ((row, at) <- rows.zipWithIndex if row(at) != NodeReader.LocalDistance)
      refuse(
        s"node ${all(at).id} is at ${row(at)} from itself: ${NodeReader.LocalDistance} is needed"
      )
    rows
  }
}
