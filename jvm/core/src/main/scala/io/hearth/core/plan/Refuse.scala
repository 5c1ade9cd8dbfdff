package io.hearth.core.plan

/** The constraint that binds where no layout fits, by the name under which the user knows it. */
private[plan] object Refuse {
  private val Options = "--executors x --cores"

  def executors(ground: Ground, fixed: Fixed): Unfit = Unfit(
    fixed.executors.fold("--executors")(_.name),
    fixed.executors.fold("")(e => s"${e.value}"),
    cpusLeft(ground),
    s"ask for at most ${ground.cpus.size} executors"
  )

  def product(ground: Ground, fixed: Fixed): Unfit = {
    val (n, m) = (fixed.executors.fold(1)(_.value), fixed.cores.fold(1)(_.value))
    val names = (fixed.executors ++ fixed.cores).map(_.name).mkString(" x ")
    Unfit(
      if (names.isEmpty) Options else names,
      s"$n x $m = ${n.toLong * m}",
      cpusLeft(ground),
      s"ask for at most ${ground.cpus.size} task slots in all"
    )
  }

  def cores(ground: Ground, asked: Asked[Int]): Unfit = Unfit(
    asked.name,
    s"${asked.value}",
    cpusLeft(ground),
    s"ask for at most ${ground.cpus.size}"
  )

  private def cpusLeft(ground: Ground): String = {
    val allowed = (ground.topology.allowed.cpus & ground.topology.cpus).size
    val occupied = allowed - ground.cpus.size
    val taken = if (occupied > 0) s" and $occupied of them occupied" else ""
    s"$allowed CPUs are allowed$taken, ${ground.cpus.size} can be used"
  }

  /** What keeps a layout from working, if anything does. */
  def layout(layout: Layout, fixed: Fixed, pools: Pools): Option[Unfit] =
    if (!Memory.fits(fixed, layout.roomMb)) Some(memory(layout, fixed, pools))
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
    val room = s"${layout.roomMb} MB is there for each of ${layout.sites.size} executors"
    val largest = fixed.heapWithin(layout.roomMb)
    fixed.heapMb match {
      case Some(heap) if largest >= Memory.LeastHeapMb =>
        Unfit(
          heap.name,
          s"${heap.value} MB",
          s"$room${besides(fixed)}",
          s"ask for at most $largest MB"
        )
      case _ => tooLittle(layout, fixed, pools, room)
    }
  }

  private def besides(fixed: Fixed): String =
    s", and a heap of ${fixed.heapMb.fold(0L)(_.value)} MB needs " +
      s"${fixed.heapMb.fold(0L)(h => fixed.footprintOf(h.value))} MB with overhead and off-heap memory"

  /** Not even the least heap fits: blame what the user fixed, else the machine's memory. */
  private def tooLittle(layout: Layout, fixed: Fixed, pools: Pools, room: String): Unfit = {
    val need = fixed.footprintOf(Memory.LeastHeapMb)
    val limit = s"$room, and the least that works is $need MB with overhead and off-heap memory"
    val most = math.max(0L, pools.memoryMb / need)
    val blamed = (fixed.driverHeapMb.filter(_ => most < 1) ++
      fixed.executors.filter(_ => most >= 1) ++
      fixed.offHeapMb.filter(_.value > 0) ++ fixed.overheadMb ++ fixed.heapMb).headOption
    blamed match {
      case Some(asked) if fixed.executors.contains(asked) =>
        Unfit(
          asked.name,
          s"${asked.value}",
          limit,
          s"ask for at most ${math.min(most, layout.sites.size - 1L)}"
        )
      case Some(asked) => Unfit(asked.name, s"${asked.value} MB", limit, "ask for less")
      case None =>
        Unfit(
          "memory",
          s"${pools.usableMb} MB usable on nodes ${pools.memoryNodes}",
          limit,
          "raise the memory limit of this process's cgroup, or use a machine with more memory"
        )
    }
  }
}
