package io.hearth.core.plan

import io.hearth.core.topology.IdSet

/**
 * CPUs and the memory that they use: usually one NUMA node.
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
 * @param leftOut nodes whose memory no CPU of the plan uses
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
   * Divides the machine into pools that each hold `needMb`. A node with less is left out, and its
   * CPUs use the nearest nodes that have enough. Where most memory would be lost that way, all
   * nodes make one pool.
   *
   * @param driverMb the driver's footprint, given the memory of all pools; spread over them
   */
  def of(ground: Ground, needMb: Long, driverMb: Long => Long): Pools = {
    val first = serving(ground, Set.empty)
    settle(ground, first, Set.empty, needMb, driverMb)
  }

  /** All CPUs and all the memory that they use as one pool; `spare` adds nodes without CPUs. */
  def joined(ground: Ground, driverMb: Long => Long, spare: Boolean): Pools = {
    val spares = if (spare) ground.memoryOnly else Vector.empty
    val all = (serving(ground, Set.empty) ++ spares).distinct
    joint(ground, Budgets.of(ground, all, driverMb), all)
  }

  /** Nodes whose memory may be used: those with CPUs, and the nearest ones of each node without. */
  private def serving(ground: Ground, without: Set[GroundNode]): Vector[GroundNode] = {
    val own = ground.nodes.filter(n => n.memoryMb > 0 && !without(n))
    val all = own ++ ground.memoryOnly.filterNot(without)
    val lent = ground.nodes.filterNot(own.contains).flatMap(nearest(_, all))
    (own ++ lent).distinct
  }

  /** All that are equally near. */
  private def nearest(to: GroundNode, among: Vector[GroundNode]): Vector[GroundNode] = {
    def distance(n: GroundNode) = n.id.flatMap(to.distances.get).getOrElse(Int.MaxValue)
    among.filter(distance(_) == among.iterator.map(distance).min)
  }

  @annotation.tailrec
  private def settle(
      ground: Ground,
      first: Vector[GroundNode],
      without: Set[GroundNode],
      needMb: Long,
      driverMb: Long => Long
  ): Pools = {
    val nodes = serving(ground, without)
    val budgets = Budgets.of(ground, nodes, driverMb)
    val poor = nodes.filter(n => budgets.net(n) < needMb)
    if (nodes.isEmpty || total(nodes.diff(poor)) * 2 < total(first))
      joint(ground, Budgets.of(ground, first, driverMb), first)
    else if (poor.isEmpty) separate(ground, nodes, budgets)
    else settle(ground, first, without ++ poor, needMb, driverMb)
  }

  private def total(nodes: Vector[GroundNode]): Long = nodes.iterator.map(_.memoryMb).sum

  private def separate(ground: Ground, serving: Vector[GroundNode], budgets: Budgets): Pools = {
    val homes = Homes.of(ground, serving)
    val coresOf = ground.cores.groupBy(_.node)
    val pools = homes.groupMap(_._2)(_._1.id).toVector.map { case (memory, nodes) =>
      Pool(
        nodes.flatMap(coresOf).sortBy(_.cpus.head),
        IdSet.from(memory.flatMap(_.id)),
        memory.iterator.map(budgets.net).sum
      )
    }
    val borrowed =
      IdSet.from(homes.collect { case (n, memory) if memory != Vector(n) => n }.flatMap(_.id))
    Pools(pools.sortBy(_.cores.head.cpus.head), budgets.usableMb, leftOut(ground, pools), borrowed)
  }

  /** Allowed nodes with memory that no pool uses. */
  private def leftOut(ground: Ground, pools: Vector[Pool]): IdSet = {
    val all = (ground.nodes ++ ground.memoryOnly).filter(_.memoryMb > 0)
    IdSet.from(all.flatMap(_.id)) &~ IdSet.union(pools.map(_.memoryNodes))
  }

  private def joint(ground: Ground, budgets: Budgets, serving: Vector[GroundNode]): Pools = {
    val nodes = IdSet.from(serving.flatMap(_.id))
    val pool = Pool(ground.cores, nodes, serving.iterator.map(budgets.net).sum)
    Pools(Vector(pool), budgets.usableMb, leftOut(ground, Vector(pool)), IdSet.empty)
  }

  /** Which nodes' memory the CPUs of each node use. */
  private object Homes {

    /**
     * The CPUs of a node with enough memory use it. The CPUs of another take the nearest, of
     * several equally near ones that with most memory for each task slot; one that nobody took then
     * joins a pool whose CPUs it is as near to as their home.
     */
    def of(
        ground: Ground,
        serving: Vector[GroundNode]
    ): Vector[(GroundNode, Vector[GroundNode])] = {
      val (own, others) = ground.nodes.partition(serving.contains)
      val choices = others.map(n => n -> nearest(n, serving))
      val chosen = choices.foldLeft(own.map(n => n -> n)) { case (done, (node, near)) =>
        done :+ (node -> near.maxBy(home => perSlot(ground, home, node +: lodgers(done, home))))
      }
      val homes = serving.map(home => Vector(home) -> lodgers(chosen, home)).filter(_._2.nonEmpty)
      val lone = serving.filter(home => lodgers(chosen, home).isEmpty)
      lone.foldLeft(homes)(joined(ground, choices.toMap)).flatMap { case (memory, nodes) =>
        nodes.map(_ -> memory)
      }
    }

    private def lodgers(chosen: Vector[(GroundNode, GroundNode)], home: GroundNode) =
      chosen.collect { case (node, other) if other == home => node }

    private def perSlot(ground: Ground, home: GroundNode, nodes: Vector[GroundNode]): Double =
      home.memoryMb.toDouble / nodes.iterator.map(n => ground.slotsOn(n.cpus.toVector)).sum

    private type Shared = (Vector[GroundNode], Vector[GroundNode])

    private def joined(ground: Ground, choices: Map[GroundNode, Vector[GroundNode]])(
        homes: Vector[Shared],
        lone: GroundNode
    ): Vector[Shared] = {
      val open = homes.indices.filter(homes(_)._2.exists(choices.get(_).exists(_.contains(lone))))
      open
        .minByOption(i => homes(i)._1.iterator.map(perSlot(ground, _, homes(i)._2)).sum)
        .fold(homes)(i => homes.updated(i, (homes(i)._1 :+ lone, homes(i)._2)))
    }
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
