package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/**
 * CPUs and the memory that serves them: one NUMA node, as a rule.
 *
 * @param cores never empty, ordered by their first CPU
 * @param memoryNodes kernel ids of the nodes whose memory it is
 * @param memoryMb what executors may use of it: the reserve and the driver's share are taken off
 */
final private[plan] case class Pool(
    cores: Vector[UsableCore],
    memoryNodes: IdSet,
    memoryMb: Long
) {
  val slots: Int = cores.iterator.map(_.slots).sum
}

/**
 * @param usableMb memory that hearth's processes may use in all, the driver included
 * @param leftOut nodes with memory that serves no CPU of the plan
 * @param borrowed nodes whose CPUs use another node's memory
 */
final private[plan] case class Pools(
    all: Vector[Pool],
    usableMb: Long,
    leftOut: IdSet,
    borrowed: IdSet
) {
  val memoryNodes: IdSet = IdSet.union(all.map(_.memoryNodes))
  val memoryMb: Long = all.iterator.map(_.memoryMb).sum
}

private[plan] object Pools {

  /** Of all memory, what the plan leaves to the kernel, the page cache and Python: one tenth. */
  val UsablePercent = 90L

  /**
   * Divides the machine into pools that each hold `needMb`. A node with less serves nobody, and its
   * CPUs use the nearest node that has enough. Where most memory would be lost that way, all nodes
   * make one pool.
   *
   * @param driverMb the driver's footprint, given the memory of all pools; spread over them
   */
  def of(ground: Ground, needMb: Long, driverMb: Long => Long): Pools = {
    val first = serving(ground)
    settle(ground, first, first, needMb, driverMb)
  }

  /** All CPUs and all memory that serves them as one pool; `spare` adds nodes without CPUs. */
  def joined(ground: Ground, driverMb: Long => Long, spare: Boolean): Pools = {
    val all = (serving(ground) ++ (if (spare) ground.memoryOnly else Vector.empty)).distinct
    joint(ground, Budgets.of(ground, all, driverMb), all)
  }

  /** Nodes whose memory may serve: those with CPUs, and the nearest one of each node without memory. */
  private def serving(ground: Ground): Vector[GroundNode] = {
    val own = ground.nodes.filter(_.memoryMb > 0)
    val all = own ++ ground.memoryOnly
    val lent = ground.nodes.filter(_.memoryMb == 0).flatMap(nearest(_, all))
    (own ++ lent).distinct
  }

  private def nearest(to: GroundNode, among: Vector[GroundNode]): Option[GroundNode] =
    among.minByOption { n =>
      (n.id.flatMap(to.distances.get).getOrElse(Int.MaxValue), n.cpus.isEmpty)
    }

  @annotation.tailrec
  private def settle(
      ground: Ground,
      first: Vector[GroundNode],
      serving: Vector[GroundNode],
      needMb: Long,
      driverMb: Long => Long
  ): Pools = {
    val budgets = Budgets.of(ground, serving, driverMb)
    val (enough, poor) = serving.partition(n => budgets.net(n) >= needMb)
    if (poor.isEmpty && serving.nonEmpty) separate(ground, first, serving, budgets)
    else if (enough.isEmpty || total(enough) * 2 < total(first))
      joint(ground, Budgets.of(ground, first, driverMb), first)
    else settle(ground, first, enough, needMb, driverMb)
  }

  private def total(nodes: Vector[GroundNode]): Long = nodes.iterator.map(_.memoryMb).sum

  private def separate(
      ground: Ground,
      first: Vector[GroundNode],
      serving: Vector[GroundNode],
      budgets: Budgets
  ): Pools = {
    val homes = ground.nodes.map(n => n.id -> home(n, serving)).toMap
    val byHome = ground.cores.groupBy(core => homes(core.node).id)
    val pools = serving.flatMap { node =>
      byHome.get(node.id).map(Pool(_, IdSet.from(node.id), budgets.net(node)))
    }
    val borrowed = IdSet.from(homes.iterator.collect {
      case (Some(id), h) if !h.id.contains(id) => id
    })
    val used = IdSet.union(pools.map(_.memoryNodes))
    val leftOut = IdSet.from((first ++ ground.memoryOnly).flatMap(_.id)) &~ used
    Pools(pools.sortBy(_.cores.head.cpus.head), budgets.usableMb, leftOut, borrowed)
  }

  private def home(node: GroundNode, serving: Vector[GroundNode]): GroundNode =
    serving.find(_.id == node.id).orElse(nearest(node, serving)).getOrElse(serving.head)

  private def joint(ground: Ground, budgets: Budgets, serving: Vector[GroundNode]): Pools = {
    val nodes = IdSet.from(serving.flatMap(_.id))
    val pool = Pool(ground.cores, nodes, serving.iterator.map(budgets.net).sum)
    val leftOut = IdSet.from(ground.memoryOnly.flatMap(_.id)) &~ nodes
    Pools(Vector(pool), budgets.usableMb, leftOut, IdSet.empty)
  }
}

/**
 * How much of each node's memory executors may use.
 *
 * @param usableMb of all nodes together, the driver included
 */
final private[plan] class Budgets private (val usableMb: Long, scale: BigDecimal) {
  def net(node: GroundNode): Long = (scale * node.memoryMb).toLong
}

private[plan] object Budgets {
  def of(ground: Ground, serving: Vector[GroundNode], driverMb: Long => Long): Budgets = {
    val total = serving.iterator.map(_.memoryMb).sum
    val limit = ground.topology.allowed.memoryLimitBytes.map(bytes => shareOf(ground, bytes >> 20))
    val usable = limit.fold(total)(math.min(total, _)) * Pools.UsablePercent / 100
    val forExecutors = math.max(0L, usable - driverMb(usable))
    new Budgets(usable, if (total == 0) BigDecimal(0) else BigDecimal(forExecutors) / total)
  }

  /** The cgroup's limit, less what belongs to occupied CPUs. */
  private def shareOf(ground: Ground, limitMb: Long): Long =
    limitMb * ground.cpus.size / (ground.topology.allowed.cpus & ground.topology.cpus).size
}
