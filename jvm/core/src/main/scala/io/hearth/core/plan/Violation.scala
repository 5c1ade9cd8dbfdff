package io.hearth.core.plan

import io.hearth.core.Counted

/** The constraint that stops every layout, by the name that the user knows. */
private[plan] object Violation {
  private val Options = "--executors x --cores"

  def executors(usable: UsableMachine, constraints: UserConstraints): Unfit = Unfit(
    constraints.executors.fold("--executors")(_.name),
    constraints.executors.fold("")(e => s"${e.value}"),
    cpusLeft(usable),
    s"ask for at most ${Counted(usable.cpus.size, "executor")}"
  )

  def product(usable: UsableMachine, constraints: UserConstraints): Unfit = {
    val (n, m) = (constraints.executors.fold(1)(_.value), constraints.cores.fold(1)(_.value))
    val names = (constraints.executors ++ constraints.cores).map(_.name).mkString(" x ")
    Unfit(
      if (names.isEmpty) Options else names,
      s"$n x $m = ${n.toLong * m}",
      cpusLeft(usable),
      s"ask for at most ${Counted(usable.cpus.size, "task slot")} in all"
    )
  }

  def cores(usable: UsableMachine, cores: UserValue[Int]): Unfit = Unfit(
    cores.name,
    s"${cores.value}",
    cpusLeft(usable),
    s"ask for at most ${usable.cpus.size}"
  )

  /** What keeps executors from being bound to one package each, if anything does. */
  def packages(
      usable: UsableMachine,
      constraints: UserConstraints,
      arrangement: Arrangement
  ): Option[Unfit] = {
    def many(placement: Placement) =
      placement.cpus.iterator.map(usable.coreOf(_).packageId).toSet.size
    val wide = arrangement.layout.placements.find(many(_) > 1)
    val spread = arrangement.pools.byPackage.all.exists(_.packages.sizeIs > 1)
    Option.when(wide.nonEmpty || spread)(
      Unfit(
        HearthKeys.BindingScope.name,
        "'package'",
        wide.fold("executors would need the memory of several packages")(placement =>
          s"an executor of ${Counted(placement.slots, "task slot")} would have its CPUs in ${many(placement)} packages"
        ),
        if (constraints.executors.isEmpty && constraints.cores.isEmpty) "leave it out"
        else "ask for executors that fit a package, or leave it out"
      )
    )
  }

  private def cpusLeft(usable: UsableMachine): String = {
    val allowed = usable.allowed.size
    val occupied = allowed - usable.cpus.size
    val taken = if (occupied > 0) s" and $occupied of them occupied" else ""
    s"$allowed ${if (allowed == 1) "CPU is" else "CPUs are"} allowed$taken, ${usable.cpus.size} can be used"
  }

  /** What keeps a layout from working, if anything does. */
  def layout(layout: Layout, constraints: UserConstraints, pools: Pools): Option[Unfit] =
    if (!layout.roomsMb.forall(Memory.fits(constraints, _)))
      Some(memory(layout, constraints, pools))
    else
      Option.when(layout.narrowest < constraints.taskCpus)(
        Unfit(
          "spark.task.cpus",
          s"${constraints.taskCpus}",
          s"the narrowest executor has ${Counted(layout.narrowest, "task slot")}, so no task could run there",
          s"set it to at most ${layout.narrowest} or ask for fewer executors"
        )
      )

  private def memory(layout: Layout, constraints: UserConstraints, pools: Pools): Unfit = {
    val min = layout.roomsMb.min
    val who =
      if (layout.placements.size == 1) "one executor"
      else s"each of ${layout.placements.size} executors"
    val room = s"$who can have ${Sizes.show(min)}"
    val largest = constraints.heapWithin(min)
    constraints.heapMb match {
      case Some(heap) if largest >= Memory.MinHeapMb =>
        Unfit(
          heap.name,
          Sizes.asked(heap),
          s"$room${besides(constraints)}",
          s"ask for at most ${Sizes.exact(largest)}"
        )
      case _ => tooLittle(constraints, pools, room)
    }
  }

  private def besides(constraints: UserConstraints): String = constraints.heapMb.fold("") { heap =>
    s", and that heap needs ${Sizes.show(constraints.footprintOf(heap.value))} with overhead and off-heap " +
      "memory"
  }

  /** Not even the smallest heap fits: blame what the user fixed, else the machine's memory. */
  private def tooLittle(constraints: UserConstraints, pools: Pools, room: String): Unfit = {
    val need = constraints.footprintOf(Memory.MinHeapMb)
    val limit =
      s"$room, and the minimum is ${Sizes.show(need)} with overhead and off-heap memory"
    val max = math.max(0L, pools.memoryMb / need)
    val counted = constraints.executors.filter(_ => max >= 1).map(n => n.name -> s"${n.value}")
    val sized =
      (constraints.offHeapMb.filter(
        _.value > 0
      ) ++ constraints.overhead.fixedMb ++ constraints.engineHost ++ constraints.heapMb)
        .map(size => size.name -> Sizes.asked(size))
    (counted ++ sized).headOption match {
      case Some((name, value)) => Unfit(name, value, limit, "ask for less")
      case None =>
        Unfit(
          "memory",
          s"${Sizes.show(pools.usableMb)} usable on ${pools.memoryNodes.named("node")}",
          limit,
          "raise the memory limit of this process's cgroup, or use a machine with more memory"
        )
    }
  }
}
