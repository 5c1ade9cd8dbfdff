package io.hearth.core.topology

import io.hearth.core.Counted
import io.hearth.core.{Brief, UserError}

/** NUMA nodes with their memory and distances. */
final private[topology] class NodeReader(tree: SysTree, online: IdSet, warnings: Warnings) {
  private val base = "sys/devices/system/node"
  private val tiers = new MemoryTiers(tree)

  def read(): MachineMemory = {
    val ids = nodeIds
    val sets = cpuSets(ids)
    val used = ids.toVector.filter(sets.contains)
    if (used.isEmpty) MachineMemory(Vector(wholeMachine), None, None)
    else if (used.size < ids.size) MachineMemory(nodes(ids, used, sets), None, None)
    else {
      val read = nodes(ids, used, sets)
      def zones = tree.text("proc/zoneinfo").getOrElse("")
      val memory =
        MachineMemory.settled(
          read,
          alone(read),
          machineMemory,
          MachineMemory.presentIn(zones, read)
        )
      memory.warning.foreach(warnings.add)
      memory
    }
  }

  private def nodes(ids: IdSet, used: Vector[Int], sets: Map[Int, IdSet]): Vector[NumaNode] = {
    val nodes = tiers.judged(used.map(id => node(id, sets(id), ids.toVector, used)))
    val homeless = online &~ IdSet.union(nodes.map(_.cpus))
    if (homeless.nonEmpty) warnings.add(s"CPUs $homeless belong to no NUMA node")
    nodes
  }

  private def alone(nodes: Vector[NumaNode]): Boolean =
    nodes.sizeIs == 1 && online.subsetOf(nodes.head.cpus) &&
      tree.list(s"$base/possible").forall(_.subsetOf(IdSet(nodes.head.id)))

  private def nodeIds: IdSet = {
    val present = tree.ids(base, "node")
    val listed = tree.list(s"$base/online").filter(_.nonEmpty)
    val missing = listed.getOrElse(IdSet.empty) &~ present
    if (missing.nonEmpty)
      warnings.add(
        s"${missing.named("NUMA node")} ${if (missing.size == 1) "is" else "are"} online but not described"
      )
    val all = listed.getOrElse(present)
    if (all.size > NodeReader.MaxNodes)
      throw new UserError(
        s"$base has ${all.size} nodes, and Linux supports at most ${NodeReader.MaxNodes}: give the capture of " +
          "a machine"
      )
    all
  }

  /**
   * The CPUs of each node. A node that claims CPUs of an earlier one comes from buggy firmware and is
   * left out, as hwloc does; so is one that is not described.
   */
  private def cpuSets(ids: IdSet): Map[Int, IdSet] = {
    val start = (Map.empty[Int, IdSet], IdSet.empty)
    val (sets, _) = ids.iterator.foldLeft(start) { case ((done, taken), id) =>
      rawCpus(id) match {
        case None => (done, taken)
        case Some(cpus) if cpus.intersects(taken) =>
          warnings.add(s"NUMA node $id claims CPUs of an earlier node: it is left out")
          (done, taken)
        case Some(cpus) => (done + (id -> (cpus & online)), taken | cpus)
      }
    }
    sets
  }

  private def rawCpus(id: Int): Option[IdSet] =
    tree.mask(s"$base/node$id/cpumap").orElse(tree.list(s"$base/node$id/cpulist"))

  private def node(id: Int, cpus: IdSet, ids: Vector[Int], used: Vector[Int]): NumaNode = {
    val memory = MemInfo.read(tree, s"$base/node$id/meminfo")
    val total = memory.total.orElse(Option.when(used.size == 1)(machineMemory.total).flatten)
    if (total.isEmpty) warnings.add(s"NUMA node $id has no readable memory size: 0 is assumed")
    NumaNode(
      id,
      cpus,
      total.getOrElse(0L),
      memory.free,
      distances(id, ids, used.toSet),
      gpuNodes.contains(id),
      math.min(hugePages(id, memory), total.getOrElse(0L))
    )
  }

  /** Of all sizes; kernels without a list of them count those of the default size. */
  private def hugePages(id: Int, memory: MemInfo): Long = {
    val at = s"$base/node$id/hugepages"
    val sizes = tree.names(at)
    if (sizes.isEmpty) memory.hugePages.zip(machineMemory.hugePageBytes).fold(0L)(bytesOf)
    else
      sizes.collect { case name @ s"hugepages-${size}kB" =>
        val pages = tree.line(s"$at/$name/nr_hugepages").flatMap(_.toLongOption)
        pages.zip(size.toLongOption.map(_ << 10)).fold(0L)(bytesOf)
      }.sum
  }

  private def bytesOf(pages: (Long, Long)): Long =
    (BigInt(pages._1.max(0L)) * pages._2.max(0L)).min(MemInfo.MaxBytes).toLong

  /**
   * The kernel writes one value for each online node, in id order, without gaps. A row of another
   * length belongs to other nodes: those present, those possible, or all up to the largest id.
   */
  private def distances(id: Int, ids: Vector[Int], used: Set[Int]): Map[Int, Int] = {
    val values = tree.line(s"$base/node$id/distance").fold(Vector.empty[Option[Int]]) {
      _.split(' ').iterator.filter(_.nonEmpty).map(_.toIntOption).toVector
    }
    if (values.isEmpty && ids.size == 1) Map(id -> NodeReader.LocalDistance)
    else
      described(values.size, ids)
        .filter(_ => values.forall(_.exists(_ >= NodeReader.LocalDistance))) match {
        case None =>
          val low = values.flatten.filter(_ < NodeReader.LocalDistance).headOption
          val why =
            low.fold("")(d =>
              s": $d is below ${NodeReader.LocalDistance}, a node's own (ACPI SLIT)"
            )
          warnings.add(
            s"NUMA node $id has no readable distances to the ${Counted(ids.size, "node")}$why"
          )
          Map.empty
        case Some(columns) =>
          val all = columns.zip(values.flatten).toMap
          warnOfDistances(id, all.filter { case (to, _) => ids.contains(to) })
          all.filter { case (to, _) => used(to) }
      }
  }

  /** The nodes that a row with this many values describes. */
  private def described(count: Int, ids: Vector[Int]): Option[Vector[Int]] = {
    val present = tree.ids(base, "node").toVector
    val possible = tree.list(s"$base/possible").fold(Vector.empty[Int])(_.toVector)
    val upToLast = Vector.range(0, ids.lastOption.fold(0)(_ + 1))
    Vector(ids, present, possible, upToLast).find(c => c.size == count && ids.forall(c.contains))
  }

  private def warnOfDistances(id: Int, all: Map[Int, Int]): Unit = {
    val near = all.toVector.sorted.collect { case (to, d) if to != id && d <= all(id) => to }
    if (near.nonEmpty)
      warnings.add(
        s"NUMA node $id is no farther from ${IdSet.from(near).named("node")} than from itself: " +
          "the firmware's distances are wrong"
      )
  }

  /** Memory of NVIDIA GPUs appears as nodes; the driver says which (POWER9, Grace). */
  private lazy val gpuNodes: IdSet = IdSet.from(for {
    gpu <- tree.names("proc/driver/nvidia/gpus")
    status <- tree.text(s"proc/driver/nvidia/gpus/$gpu/numa_status").toVector
    line <- status.linesIterator
    if line.trim.startsWith("Node:")
    id <- line.trim.drop("Node:".length).trim.toIntOption
    if id >= 0
  } yield id)

  private lazy val machineMemory: MemInfo = MemInfo.read(tree, "proc/meminfo")

  private def wholeMachine: NumaNode = {
    warnings.add("the kernel reports no NUMA nodes: the whole machine is treated as node 0")
    if (machineMemory.total.isEmpty)
      warnings.add("the memory size is not readable in proc/meminfo: 0 is assumed")
    NumaNode(
      0,
      online,
      machineMemory.total.getOrElse(0L),
      machineMemory.free,
      Map(0 -> NodeReader.LocalDistance),
      hugePageBytes = machineMemory.hugePages
        .zip(machineMemory.hugePageBytes)
        .fold(0L)(bytesOf)
        .min(machineMemory.total.getOrElse(0L))
    )
  }
}

private[topology] object NodeReader {

  /** ACPI's distance of a node to itself; smaller ones are reserved (System Locality Information Table). */
  val LocalDistance = 10

  /** The largest CONFIG_NODES_SHIFT of Linux is 10, on every architecture. */
  val MaxNodes = 1024
}

/**
 * Of `/proc/meminfo` or of a node's `meminfo`.
 *
 * @param total in bytes
 * @param free in bytes
 * @param hugePages how many of the default size are set aside
 * @param hugePageBytes the default size; a node's file does not have it
 */
final private[topology] case class MemInfo(
    total: Option[Long],
    free: Option[Long],
    hugePages: Option[Long] = None,
    hugePageBytes: Option[Long] = None
)

private[topology] object MemInfo {

  def read(tree: SysTree, path: String): MemInfo = {
    val lines = tree.text(path).fold(Vector.empty[String])(_.linesIterator.toVector)
    def bytes(name: String) = lines
      .find(_.contains(name))
      .flatMap(line => tree.orWarn(path, fromKb(name, line.drop(line.indexOf(name) + name.length))))
    def pages = lines
      .collectFirst { case line if line.contains(HugePages) => line.trim.split("\\s+").last }
      .flatMap(_.toLongOption)
    MemInfo(bytes("MemTotal:"), bytes("MemFree:"), pages, bytes("Hugepagesize:"))
  }

  private val HugePages = "HugePages_Total:"

  private def fromKb(name: String, value: String): Either[String, Long] =
    value.trim
      .takeWhile(_.isDigit)
      .toLongOption
      .filter(_ <= MaxBytes / 1024)
      .map(_ * 1024)
      .toRight(s"'${Brief(name + value)}' is not a memory size")

  /** What 52 bits address, more than any processor of today; sums over all nodes fit into 64 bits. */
  val MaxBytes: Long = 1L << 52
}
