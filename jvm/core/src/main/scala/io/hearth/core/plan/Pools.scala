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

  def packages: Set[Int] = cores.iterator.map(_.packageId).toSet

  def and(other: Pool): Pool = Pool(
    (cores ++ other.cores).sortBy(_.cpus.head),
    memoryNodes | other.memoryNodes,
    memoryMb + other.memoryMb
  )
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

  /** The place in `all` of the pool of each CPU. */
  lazy val poolOf: Map[Int, Int] = all.iterator.zipWithIndex.flatMap { case (pool, i) =>
    pool.cores.iterator.flatMap(_.cpus).map(_ -> i)
  }.toMap

  /**
   * Those of these CPUs alone, where they are fewer: of a cgroup's limit, which all pools share in
   * proportion, they have the part of the others too.
   */
  def only(cpus: IdSet, usable: UsableMachine, driverMb: Long => Long): Option[Pools] = {
    val (used, others) = all.partition(_.cores.exists(_.cpus.exists(cpus.contains)))
    val limited = usable.topology.allowed.memoryLimit.nonEmpty
    Option.when(others.nonEmpty && used.nonEmpty && limited) {
      val nodes = IdSet.union(used.map(_.memoryNodes))
      val serving = (usable.nodes ++ usable.memoryOnly).filter(_.id.exists(nodes.contains))
      val budgets = Budgets.of(usable, serving, driverMb)
      def netOf(pool: Pool) =
        serving.filter(_.id.exists(pool.memoryNodes.contains)).map(budgets.net).sum
      copy(all = used.map(pool => pool.copy(memoryMb = netOf(pool))), usableMb = budgets.usableMb)
    }
  }

  /** The pools of a package as one; one whose CPUs are in several packages joins them. */
  def byPackage: Pools = copy(all = all.foldLeft(Vector.empty[Pool]) { (done, pool) =>
    val packages = pool.packages
    val (same, others) = done.partition(_.packages.exists(packages))
    others :+ (same :+ pool).reduce(_ and _)
  })
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
  def of(usable: UsableMachine, needMb: Long, driverMb: Long => Long): Pools = {
    val first = serving(usable, Set.empty)
    settle(usable, first, Set.empty, needMb, driverMb)
  }

  /** All CPUs and all the memory that they use as one pool; `spare` adds nodes without CPUs. */
  def joined(usable: UsableMachine, driverMb: Long => Long, spare: Boolean): Pools = {
    val spares = if (spare) usable.memoryOnly else Vector.empty
    val all = (serving(usable, Set.empty) ++ spares).distinct
    joint(usable, Budgets.of(usable, all, driverMb), all)
  }

  /** Nodes whose memory may be used: those with CPUs, and the nearest ones of each node without. */
  private def serving(usable: UsableMachine, without: Set[UsableNode]): Vector[UsableNode] = {
    val withMemory = usable.nodes.filter(n => n.memoryMb > 0 && !without(n))
    val all = withMemory ++ usable.memoryOnly.filterNot(without)
    val lent = usable.nodes.filterNot(withMemory.contains).flatMap(nearest(_, all))
    (withMemory ++ lent).distinct
  }

  /** All that are equally near. */
  private def nearest(to: UsableNode, among: Vector[UsableNode]): Vector[UsableNode] = {
    def distance(n: UsableNode) = n.id.flatMap(to.distances.get).getOrElse(Int.MaxValue)
    among.filter(distance(_) == among.iterator.map(distance).min)
  }

  @annotation.tailrec
  private def settle(
      usable: UsableMachine,
      first: Vector[UsableNode],
      without: Set[UsableNode],
      needMb: Long,
      driverMb: Long => Long
  ): Pools = {
    val nodes = serving(usable, without)
    val budgets = Budgets.of(usable, nodes, driverMb)
    val poor = nodes.filter(n => budgets.net(n) < needMb)
    if (nodes.isEmpty || total(nodes.diff(poor)) * 2 < total(first))
      joint(usable, Budgets.of(usable, first, driverMb), first)
    else if (poor.isEmpty) separate(usable, nodes, budgets)
    else settle(usable, first, without ++ poor, needMb, driverMb)
  }

  private def total(nodes: Vector[UsableNode]): Long = nodes.iterator.map(_.memoryMb).sum

  private def separate(
      usable: UsableMachine,
      serving: Vector[UsableNode],
      budgets: Budgets
  ): Pools = {
    val homes = Homes.of(usable, serving)
    val coresOf = usable.cores.groupBy(_.node)
    val pools = homes.groupMap(_._2)(_._1.id).toVector.map { case (memory, nodes) =>
      Pool(
        nodes.flatMap(coresOf).sortBy(_.cpus.head),
        IdSet.from(memory.flatMap(_.id)),
        memory.iterator.map(budgets.net).sum
      )
    }
    val borrowed =
      IdSet.from(homes.collect { case (n, memory) if memory != Vector(n) => n }.flatMap(_.id))
    Pools(pools.sortBy(_.cores.head.cpus.head), budgets.usableMb, leftOut(usable, pools), borrowed)
  }

  /** Allowed nodes with memory that no pool uses. */
  private def leftOut(usable: UsableMachine, pools: Vector[Pool]): IdSet = {
    val all = (usable.nodes ++ usable.memoryOnly).filter(_.memoryMb > 0)
    IdSet.from(all.flatMap(_.id)) &~ IdSet.union(pools.map(_.memoryNodes))
  }

  private def joint(usable: UsableMachine, budgets: Budgets, serving: Vector[UsableNode]): Pools = {
    val nodes = IdSet.from(serving.flatMap(_.id))
    val pool = Pool(usable.cores, nodes, serving.iterator.map(budgets.net).sum)
    Pools(Vector(pool), budgets.usableMb, leftOut(usable, Vector(pool)), IdSet.empty)
  }

  /** Which nodes' memory the CPUs of each node use. */
  private object Homes {

    /**
     * The CPUs of a node with enough memory use it. The CPUs of another take the nearest, of
     * several equally near ones that with most memory for each task slot; one that nobody took then
     * joins a pool whose CPUs it is as near to as their home.
     */
    def of(
        usable: UsableMachine,
        serving: Vector[UsableNode]
    ): Vector[(UsableNode, Vector[UsableNode])] = {
      val (served, others) = usable.nodes.partition(serving.contains)
      val choices = others.map(n => n -> nearest(n, serving))
      val chosen = choices.foldLeft(served.map(n => n -> n)) { case (done, (node, near)) =>
        done :+ (node -> near.maxBy(home => perSlot(usable, home, node +: lodgers(done, home))))
      }
      val homes = serving.map(home => Vector(home) -> lodgers(chosen, home)).filter(_._2.nonEmpty)
      val lone = serving.filter(home => lodgers(chosen, home).isEmpty)
      lone.foldLeft(homes)(joined(usable, choices.toMap)).flatMap { case (memory, nodes) =>
        nodes.map(_ -> memory)
      }
    }

    private def lodgers(chosen: Vector[(UsableNode, UsableNode)], home: UsableNode) =
      chosen.collect { case (node, other) if other == home => node }

    private def perSlot(
        usable: UsableMachine,
        home: UsableNode,
        nodes: Vector[UsableNode]
    ): Double =
      home.memoryMb.toDouble / nodes.iterator.map(n => usable.slotsOn(n.cpus.toVector)).sum

    private type Shared = (Vector[UsableNode], Vector[UsableNode])

    private def joined(usable: UsableMachine, choices: Map[UsableNode, Vector[UsableNode]])(
        homes: Vector[Shared],
        lone: UsableNode
    ): Vector[Shared] = {
      val open = homes.indices.filter(homes(_)._2.exists(choices.get(_).exists(_.contains(lone))))
      open
        .minByOption(i => homes(i)._1.iterator.map(perSlot(usable, _, homes(i)._2)).sum)
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
  def net(node: UsableNode): Long = (scale * node.memoryMb).toLong
}

private[plan] object Budgets {
  def of(usable: UsableMachine, serving: Vector[UsableNode], driverMb: Long => Long): Budgets = {
    val total = serving.iterator.map(_.memoryMb).sum
    val limit = usable.topology.allowed.memoryLimit.map(l => shareOf(usable, l._1 >> 20))
    val usableMb = limit.fold(total)(math.min(total, _)) * Pools.UsablePercent / 100
    val forExecutors = math.max(0L, usableMb - driverMb(usableMb))
    new Budgets(usableMb, if (total == 0) BigDecimal(0) else BigDecimal(forExecutors) / total)
  }

  /** The cgroup's limit, less what belongs to occupied CPUs, or what their applications have leased. */
  private def shareOf(usable: UsableMachine, limitMb: Long): Long = {
    val counted = usable.cpus.size + (usable.allowed & usable.occupied.leased).size
    math.max(0L, limitMb * counted / usable.allowed.size - usable.occupied.ownMb)
  }
}
