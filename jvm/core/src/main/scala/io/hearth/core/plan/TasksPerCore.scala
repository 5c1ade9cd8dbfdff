package io.hearth.core.plan

import io.hearth.core.topology.Topology

/**
 * Hardware threads of a core that are worth a task each, at most. Up to two it is every thread: a second one made
 * two cores 39.5 % faster, and more than four cores by less (Awan 2016). Beyond that it depends on the kind of work.
 * Four was chosen knowing Baig's times of two workloads, so agreement with those times is no evidence for it
 * (docs/sources.md). Of a recorded run, no more than saturate the memory of a node.
 *
 * @param because why no more
 * @param recorded what the recorded run says, where there is one
 */
final private[plan] case class TasksPerCore(
    most: Int,
    because: String,
    source: String,
    recorded: Option[String] = None
) {

  /** How many tasks a core of this machine is worth. */
  def reason(usable: UsableMachine, constraints: UserConstraints): Reason = {
    val max = usable.cores.iterator.map(_.cpus.size).max
    val kinds = usable.cores.flatMap(_.kind).distinct
    val slower = usable.cores.filter(_.efficient)
    val hybrid =
      if (slower.nonEmpty)
        s"; ${slower.size} slower cores count as ${slower.map(_.slots).sum} (three for four is hearth's judgement), " +
          "and no executor has cores of both kinds unless it is the only one"
      else if (kinds.sizeIs > 1) s"; all core kinds (${kinds.mkString(", ")}) are used"
      else ""
    def reason(value: String, because: String, source: String) =
      Reason("threads per core", value, because + hybrid + recorded.fold("")("; " + _), source)
    constraints.cores match {
      case Some(asked) => reason("as asked", s"${asked.name} fixes the tasks", "user")
      case None if max > most =>
        reason(
          s"$most",
          s"of $max hardware threads $most ${if (most == 1) "is" else "are"} worth a task: $because, as memory bandwidth " +
            "saturates before threads run out; the others are for the collector and the compiler",
          source
        )
      case None if max > 1 =>
        reason(
          s"$max",
          "every hardware thread is worth a task: a second thread made two cores 39.5 % faster, and gains less beyond four",
          "Awan 2016"
        )
      case None if usable.topology.cores.exists(_.cpus.size > 1) =>
        reason("1", "one hardware thread of each core may be used", "kernel: sched_getaffinity(2)")
      case None => reason("1", "cores have one hardware thread", "kernel: topology")
    }
  }
}

private[plan] object TasksPerCore {
  private def published(most: Int, fastest: String) =
    TasksPerCore(most, s"bound to four nodes of a POWER8, $fastest", "Baig 2018; hearth")

  private val OfSql = published(2, "SQL was fastest with 12 tasks on the 6 cores of each")
  private val OfOthers = published(
    4,
    "machine learning was fastest with 24 tasks on the 6 cores of each, a graph with 18, SQL with 12 (--workload sql " +
      "plans 2 a core; 4 was chosen after seeing two of Baig's tables of times)"
  )

  def of(workload: Workload, topology: Topology): TasksPerCore = {
    val kind = if (workload.kind.contains(WorkloadKind.Sql)) OfSql else OfOthers
    workload.bandwidth.fold(kind) { run =>
      val allowed = topology.nodes.map(_.cpus & topology.allowed.cpus)
      val cores = allowed.map(of => topology.cores.count(_.cpus.intersects(of)))
      val most = run.tasksOfCore(cores.foldLeft(1)(math.max))
      val said = Some(run.because)
      if (most >= kind.most) kind.copy(recorded = said)
      else TasksPerCore(most, "more would wait for memory", "Awan 2016; hearth", said)
    }
  }
}

/**
 * What a recorded run says of memory, in GB (10^9 bytes) a second.
 *
 * @param taskGbS what a task moves from and to memory while it has a CPU
 * @param nodeGbS what a NUMA node sustains
 */
final case class RecordedBandwidth(taskGbS: Double, nodeGbS: Double) {

  /** Tasks at which a node saturates: latency grows exponentially beyond 80 % (Awan 2016). */
  private[plan] def tasks: Double = 0.8 * nodeGbS / taskGbS

  /**
   * As many tasks on each of so many cores as saturate their memory: with one less they would not. At least one:
   * nothing published shows that idle cores help.
   */
  private[plan] def tasksOfCore(cores: Int): Int = math.max(1, math.ceil(tasks / cores).toInt)

  private[plan] def because: String =
    f"in the recorded run a second of CPU time moved $taskGbS%.2f GB, so that $tasks%.0f tasks use 80 %% of the " +
      f"$nodeGbS%.1f GB/s that a node sustains, beyond which latency grows exponentially"
}
