package io.hearth.core.plan

import io.hearth.core.topology.{IdSet, MemoryTier, NumaNode}

/** Executors, and the memory from which theirs is taken. */
final private[plan] case class Arrangement(pools: Pools, layout: Layout) {

  /** What each executor can have, and of what. */
  def reason(usable: UsableMachine, constraints: UserConstraints, native: Boolean): Reason = {
    val limit = usable.topology.allowed.memoryLimit.fold("") { case (bytes, name) =>
      s" or of $name (${Sizes.show(bytes >> 20)}), shared in proportion"
    }
    val of = s"${Pools.UsablePercent} % of the memory of ${pools.memoryNodes.named("node")}$limit"
    val part =
      if (native) of
      else if (constraints.heapMb.isEmpty) s"its share, by task slots, of $of, less the driver's"
      else s"its share of $of, less the driver's"
    val because = s"$part; the rest is for the kernel and other processes${hugePages(usable)}"
    Reason(
      "memory",
      s"${Sizes.range(layout.roomsMb)} for ${if (native) "the JVM" else "each executor"}",
      (because +: (if (native) Vector.empty else lent.toVector ++ leftOut(usable))).mkString("; "),
      "kernel: node meminfo, cgroup"
    )
  }

  /** Of nodes without CPUs, how fast each is and whether it is used; nothing where there are none. */
  def tiers(usable: UsableMachine): Option[Reason] = {
    val bare = usable.topology.nodes.filter(node =>
      node.cpus.isEmpty && node.memoryBytes > 0 && usable.topology.allowed.nodes.contains(node.id)
    )
    def group(which: NumaNode => Boolean, what: String) = {
      val (used, left) = bare.filter(which).partition(node => pools.memoryNodes.contains(node.id))
      Vector(used -> "used beside it", left -> "not used").collect {
        case (nodes, fate) if nodes.nonEmpty =>
          s"${IdSet.from(nodes.map(_.id)).named("node")}, $fate: $what"
      }
    }
    def tier(wanted: Option[MemoryTier])(node: NumaNode) = !node.gpuMemory && node.tier == wanted
    val told =
      group(
        tier(Some(MemoryTier.Faster)),
        "faster than the memory beside CPUs, as HBM is, but a policy that binds takes the nearest first (where the " +
          "firmware can make it a cache of the rest, no policy is needed)"
      ) ++
        group(tier(Some(MemoryTier.Slower)), "slower than the memory beside CPUs, as CXL's is") ++
        group(tier(Some(MemoryTier.Alike)), "as fast as the memory beside CPUs") ++
        group(
          tier(None),
          "the kernel does not say how fast (access0/initiators, memory_tiering)"
        ) ++
        group(_.gpuMemory, "a GPU's, not used for heaps")
    Option.when(told.nonEmpty)(
      Reason(
        "memory tiers",
        s"${bare.size} without CPUs",
        told.mkString("; "),
        "kernel: numaperf, memory tiers"
      )
    )
  }

  /** Set aside for programs that ask for them: a JVM does with -XX:+UseLargePages only. */
  private def hugePages(usable: UsableMachine): String = {
    val of = usable.topology.nodes.filter(n => pools.memoryNodes.contains(n.id))
    val mb = of.iterator.map(_.hugePageBytes).sum >> 20
    if (mb == 0) ""
    else s"; ${Sizes.show(mb)} set aside as huge pages (vm.nr_hugepages) are not used"
  }

  private def lent = Option.unless(pools.borrowed.isEmpty)(
    s"CPUs of ${pools.borrowed.named("node")} use the nearest nodes with enough memory"
  )

  /** Which nodes with memory no executor uses, and why; a native JVM is not bound to any. */
  private def leftOut(usable: UsableMachine): Vector[String] = {
    val bare = IdSet.from(usable.memoryOnly.flatMap(_.id)) & pools.leftOut
    val poor = pools.leftOut &~ bare
    Vector(
      Option.unless(bare.isEmpty)(
        s"memory of ${bare.named("node")} is not used: no executor runs there, and the plan has as " +
          "many task slots without it"
      ),
      Option.unless(poor.isEmpty)(
        s"${poor.named("node")} ${if (poor.size == 1) "is not used: it" else "are not used: each"} has less memory" +
          s"${unclaimed(usable, poor)} than the smallest executor needs"
      )
    ).flatten
  }

  private def unclaimed(usable: UsableMachine, of: IdSet): String = {
    val occupied = usable.topology.allowed.cpus &~ usable.cpus
    val claimed =
      usable.topology.nodes.exists(n => of.contains(n.id) && n.cpus.intersects(occupied))
    if (claimed) " (without the share of occupied CPUs)" else ""
  }
}
