package io.hearth.core.plan

import scala.collection.mutable

import io.hearth.core.Counted
import io.hearth.core.topology.{IdSet, NumaNode, Topology}

/**
 * A core that the plan may use.
 *
 * @param cpus its hardware threads that are allowed and not occupied, never empty
 * @param slots tasks worth running on it at the same time
 * @param node the NUMA node of its CPUs, where the kernel says so
 * @param cache the number of its last-level-cache group, -1 where none is known
 * @param efficient whether it is one of the slower cores of a hybrid machine
 */
final private[plan] case class UsableCore(
    cpus: Vector[Int],
    slots: Int,
    packageId: Int,
    node: Option[Int],
    cache: Int,
    kind: Option[String],
    efficient: Boolean = false
)

/**
 * The part of a machine that a plan may use: allowed and not occupied.
 *
 * @param allowed what an application that is alone may use: without isolated CPUs, unless this process may
 *                run on no others
 * @param cpus all its CPUs
 * @param cores its cores, ordered by their first CPU
 * @param nodes its NUMA nodes with CPUs, ordered by their first CPU
 * @param memoryOnly allowed nodes with memory and without CPUs
 * @param occupied what others hold
 */
final private[plan] case class UsableMachine(
    topology: Topology,
    allowed: IdSet,
    cpus: IdSet,
    cores: Vector[UsableCore],
    nodes: Vector[UsableNode],
    memoryOnly: Vector[UsableNode],
    occupied: Occupied
) {
  val slots: Int = cores.iterator.map(_.slots).sum

  /** What limits CPU time to less than these CPUs: the variable of a batch system, or the cgroup. */
  private val timeLimit: Option[(Double, Option[String])] =
    (topology.allowed.cpuQuota.map(_.cpus -> None) ++
      topology.allowed.batch.flatMap(limit => limit.cpus.map(_ -> Some(limit.name))))
      .minByOption(_._1)
      .filter(_._1 < cpus.size)

  /** The CPU time that there is, where it is less than these CPUs. */
  val quota: Option[Double] = timeLimit.map(_._1)

  /** The variable that sets it, where a batch system does. */
  val quotaVariable: Option[String] = timeLimit.flatMap(_._2)
  val quotaName: String = quotaVariable.getOrElse("the CPU quota")

  /**
   * Task slots that the quota keeps busy, whole ones: one more would have the kernel stop all threads before
   * the end of each period. At least 1.
   */
  val quotaSlots: Option[Int] = quota.map(cpus => math.max(1, cpus.toInt)).filter(_ < slots)

  /** CPUs that no thread is moved to or from by the kernel, and that are left alone. */
  def spared: IdSet = topology.allowed.cpus & topology.cpus &~ allowed

  /** Which CPUs a plan uses, and why no others. */
  def cpusReason: Reason = {
    val outside = (topology.cpus &~ topology.allowed.cpus).size
    val taken = allowed.size - cpus.size
    val notes = Vector(
      Option.when(outside > 0)(
        s"${Counted(outside, "CPU")} of the machine ${if (outside == 1) "is" else "are"} outside this process's affinity or cpuset"
      ),
      Option.when(taken > 0)(
        s"$taken ${if (taken == 1) "is" else "are"} occupied by other applications"
      ),
      Option.when(spared.nonEmpty)(
        s"${spared.size} ${if (spared.size == 1) "is" else "are"} isolated"
      ),
      Option.when(outside == 0 && taken == 0 && spared.isEmpty)(
        "this process may use every CPU of the machine"
      )
    ).flatten
    Reason(
      "cpus",
      s"$cpus",
      notes.mkString("; "),
      "kernel: sched_getaffinity(2), cpuset"
    )
  }

  /** One executor over all of it. */
  def placement: Placement = Placement(cpus.toVector, slots)

  lazy val coreOf: Map[Int, UsableCore] =
    cores.iterator.flatMap(core => core.cpus.map(_ -> core)).toMap

  def slotsOn(cpus: Iterable[Int]): Int = UsableMachine.slotsOn(coreOf, cpus)

  private lazy val distancesOf: Map[Int, Map[Int, Int]] =
    nodes.flatMap(n => n.id.map(_ -> n.distances)).toMap

  /** Mean distance between the nodes of these cores and of those, as the kernel tells it. */
  def distance(some: Vector[UsableCore], others: Vector[UsableCore]): Double = {
    val between = for {
      a <- some.iterator.map(_.node).distinct
      b <- others.iterator.map(_.node).distinct
    } yield UsableMachine.distance(a.flatMap(distancesOf.get), b)
    val all = between.toVector
    all.sum.toDouble / all.size
  }
}

/**
 * @param id the kernel's; None gathers CPUs that the kernel puts in no node
 * @param memoryMb memory that this process may use there, less what others hold
 */
final private[plan] case class UsableNode(
    id: Option[Int],
    cpus: IdSet,
    memoryMb: Long,
    distances: Map[Int, Int]
)

private[plan] object UsableMachine {

  /** From a node with these distances; the farthest that the kernel's table holds where it is not told. */
  private def distance(of: Option[Map[Int, Int]], to: Option[Int]): Int =
    to.flatMap(id => of.flatMap(_.get(id))).getOrElse(255)

  /** Tasks worth running on these CPUs; a part of a core counts in proportion, at least 1 in all. */
  def slotsOn(coreOf: Int => UsableCore, cpus: Iterable[Int]): Int = {
    // Counted, not grouped: large machines are asked for millions of CPUs.
    val taken = mutable.LongMap.empty[Int]
    cpus.foreach { cpu =>
      val first = coreOf(cpu).cpus.head.toLong
      taken(first) = taken.getOrElse(first, 0) + 1
    }
    val tasks = taken.iterator.map { case (first, count) =>
      val core = coreOf(first.toInt)
      core.slots * count / core.cpus.size
    }
    math.max(1, tasks.sum)
  }

  /** @param most tasks that a core is worth at most */
  def of(topology: Topology, occupied: Occupied, most: Int): Either[Unfit, UsableMachine] = {
    val allowed = allowedIn(topology)
    val cpus = allowed &~ occupied.cpus
    if (cpus.isEmpty) Left(nothingLeft(allowed, occupied.cpus))
    else {
      val cores = usableCores(topology, cpus, most)
      val (withCpus, without) =
        groundNodes(topology, allowed, cpus, occupied).partition(_.cpus.nonEmpty)
      val nodes = withCpus.sortBy(_.cpus.head)
      Right(UsableMachine(topology, allowed, cpus, cores, nodes, without, occupied))
    }
  }

  /** A mask of isolated CPUs alone is how a user asks for them. */
  private def allowedIn(topology: Topology): IdSet = {
    val all = topology.allowed.cpus & topology.cpus
    if (all.subsetOf(topology.isolated)) all else all &~ topology.isolated
  }

  private def nothingLeft(allowed: IdSet, occupied: IdSet) = Unfit(
    "CPUs",
    s"'$allowed'",
    s"'$occupied' are occupied, so none are left",
    "wait until one is free, or widen this process's cpuset"
  )

  private def usableCores(topology: Topology, cpus: IdSet, most: Int): Vector[UsableCore] = {
    val cacheOf = topology.caches.iterator.zipWithIndex.flatMap { case (group, index) =>
      group.cpus.iterator.map(_ -> index)
    }.toMap
    val cores = for {
      core <- topology.cores
      threads = core.cpus & cpus
      if threads.nonEmpty
    } yield UsableCore(
      threads.toVector,
      math.min(threads.size, most),
      core.packageId,
      topology.nodeOf(threads.head).map(_.id),
      cacheOf.getOrElse(threads.head, -1),
      core.kind,
      core.efficient
    )
    val ordered = cores.sortBy(_.cpus.head)
    if (cores.forall(_.efficient)) ordered.map(_.copy(efficient = false)) else slower(ordered)
  }

  /** Of every four efficient cores beside faster ones, the last has no slot of its own. */
  private def slower(cores: Vector[UsableCore]): Vector[UsableCore] = cores
    .foldLeft((Vector.empty[UsableCore], 1)) {
      case ((done, n), core) if core.efficient =>
        val slots = if (n % EfficientOfSlots == 0) 0 else core.slots
        (done :+ core.copy(slots = slots), n + 1)
      case ((done, n), core) => (done :+ core, n)
    }
    ._1

  /** That so many efficient cores are worth one slot less is hearth's judgement; they come in fours. */
  val EfficientOfSlots = 4

  private def groundNodes(
      topology: Topology,
      allowed: IdSet,
      cpus: IdSet,
      occupied: Occupied
  ): Vector[UsableNode] = {
    val homeless = cpus &~ IdSet.union(topology.nodes.iterator.map(_.cpus))
    topology.nodes
      .map(groundNode(topology, allowed, cpus, occupied, _))
      .filter(n => n.cpus.nonEmpty || n.memoryMb > 0) ++
      Option.when(homeless.nonEmpty)(UsableNode(None, homeless, 0L, Map.empty))
  }

  private def groundNode(
      topology: Topology,
      all: IdSet,
      cpus: IdSet,
      occupied: Occupied,
      node: NumaNode
  ) = {
    val allowed = node.cpus & all
    val usable = node.cpus & cpus
    // A node whose CPUs are all out of bounds for this process counts as one without CPUs: the
    // cpuset may allow the CPUs of one node and the memory of another. A fully occupied node
    // belongs to its tenant.
    val open = allowed.isEmpty || usable.nonEmpty
    val ours = open && !node.gpuMemory && topology.allowed.nodes.contains(node.id)
    val total = if (ours) (node.memoryBytes - node.hugePageBytes) >> 20 else 0L
    val counted = usable.size + (allowed & occupied.leased).size
    val share = if (allowed.isEmpty) total else total * counted / allowed.size
    val rest = math.max(0L, share - occupied.leasedMb(node.id) - occupied.heldMb(node.id))
    UsableNode(Some(node.id), usable, rest, node.distances)
  }
}
