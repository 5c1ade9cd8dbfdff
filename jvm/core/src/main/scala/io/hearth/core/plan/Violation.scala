package io.hearth.core.plan

/** The constraint that stops every layout, by the name that the user knows. */
private[plan] object Violation {
  private val Options = "--executors x --cores"

  def executors(usable: UsableMachine, fixed: Fixed): Unfit = Unfit(
    fixed.executors.fold("--executors")(_.name),
    fixed.executors.fold("")(e => s"${e.value}"),
    cpusLeft(usable),
    s"ask for at most ${usable.cpus.size} executors"
  )

  def product(usable: UsableMachine, fixed: Fixed): Unfit = {
    val (n, m) = (fixed.executors.fold(1)(_.value), fixed.cores.fold(1)(_.value))
    val names = (fixed.executors ++ fixed.cores).map(_.name).mkString(" x ")
    Unfit(
      if (names.isEmpty) Options else names,
      s"$n x $m = ${n.toLong * m}",
      cpusLeft(usable),
      s"ask for at most ${usable.cpus.size} task slots in all"
    )
  }

  def cores(usable: UsableMachine, asked: Asked[Int]): Unfit = Unfit(
    asked.name,
    s"${asked.value}",
    cpusLeft(usable),
    s"ask for at most ${usable.cpus.size}"
  )

  /** What keeps executors from being bound to one package each, if anything does. */
  def packages(usable: UsableMachine, fixed: Fixed, found: Arrangement): Option[Unfit] = {
    def many(site: Site) = site.cpus.iterator.map(usable.coreOf(_).packageId).toSet.size
    val wide = found.layout.sites.find(many(_) > 1)
    val spread = found.pools.byPackage.all.exists(_.packages.sizeIs > 1)
    Option.when(wide.nonEmpty || spread)(
      Unfit(
        HearthKeys.BindingScopeKey,
        "'package'",
        wide.fold("executors would need the memory of several packages")(site =>
          s"an executor of ${site.slots} task slots would have its CPUs in ${many(site)} packages"
        ),
        if (fixed.executors.isEmpty && fixed.cores.isEmpty) "leave it out"
        else "ask for executors that fit a package, or leave it out"
      )
    )
  }

  private def cpusLeft(usable: UsableMachine): String = {
    val allowed = usable.allowed.size
    val occupied = allowed - usable.cpus.size
    val taken = if (occupied > 0) s" and $occupied of them occupied" else ""
    s"$allowed CPUs are allowed$taken, ${usable.cpus.size} can be used"
  }

  /** What keeps a layout from working, if anything does. */
  def layout(layout: Layout, fixed: Fixed, pools: Pools): Option[Unfit] =
    if (!layout.roomsMb.forall(Memory.fits(fixed, _))) Some(memory(layout, fixed, pools))
    else
      Option.when(layout.narrowest < fixed.taskCpus)(
        Unfit(
          "spark.task.cpus",
          s"${fixed.taskCpus}",
          s"the narrowest executor has ${layout.narrowest} task slots, so no task could run there",
          s"set it to at most ${layout.narrowest} or ask for fewer executors"
        )
      )

  private def memory(layout: Layout, fixed: Fixed, pools: Pools): Unfit = {
    val least = layout.roomsMb.min
    val room = s"each of ${layout.sites.size} executors can have ${Sizes.show(least)}"
    val largest = fixed.heapWithin(least)
    fixed.heapMb match {
      case Some(heap) if largest >= Memory.LeastHeapMb =>
        Unfit(
          heap.name,
          Sizes.exact(heap.value),
          s"$room${besides(fixed)}",
          s"ask for at most ${Sizes.exact(largest)}"
        )
      case _ => tooLittle(fixed, pools, room)
    }
  }

  private def besides(fixed: Fixed): String = fixed.heapMb.fold("") { heap =>
    s", and that heap needs ${Sizes.show(fixed.footprintOf(heap.value))} with overhead and off-heap " +
      "memory"
  }

  /** Not even the smallest heap fits: blame what the user fixed, else the machine's memory. */
  private def tooLittle(fixed: Fixed, pools: Pools, room: String): Unfit = {
    val need = fixed.footprintOf(Memory.LeastHeapMb)
    val limit =
      s"$room, and the minimum is ${Sizes.show(need)} with overhead and off-heap memory"
    val most = math.max(0L, pools.memoryMb / need)
    val counted = fixed.executors.filter(_ => most >= 1).map(n => n.name -> s"${n.value}")
    val sized = (fixed.offHeapMb.filter(_.value > 0) ++ fixed.overheadMb ++ fixed.heapMb)
      .map(size => size.name -> Sizes.exact(size.value))
    (counted ++ sized).headOption match {
      case Some((name, value)) => Unfit(name, value, limit, "ask for less")
      case None =>
        Unfit(
          "memory",
          s"${Sizes.show(pools.usableMb)} usable on nodes ${pools.memoryNodes}",
          limit,
          "raise the memory limit of this process's cgroup, or use a machine with more memory"
        )
    }
  }
}
