package io.hearth.core.plan

/**
 * Hardware threads of a core that are worth a task each, at most. Up to two it is every thread: a second one made
 * two cores 39.5 % faster, and more than four cores by less (Awan 2016). Beyond that it depends on the kind of work.
 * Four was chosen knowing Baig's times of two workloads, so agreement with those times is no evidence for it
 * (docs/sources.md).
 *
 * @param because what was fastest with so many
 */
final private[plan] case class TasksPerCore(most: Int, because: String) {

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
      Reason("threads per core", value, because + hybrid, source)
    constraints.cores match {
      case Some(asked) => reason("as asked", s"${asked.name} fixes the tasks", "user")
      case None if max > most =>
        reason(
          s"$most",
          s"of $max hardware threads $most are worth a task: bound to four nodes of a POWER8, $because, as memory " +
            "bandwidth saturates before threads run out; the others are for the collector and the compiler",
          "Baig 2018; hearth"
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
  private val OfSql = TasksPerCore(2, "SQL was fastest with 12 tasks on the 6 cores of each")
  private val OfOthers = TasksPerCore(
    4,
    "machine learning was fastest with 24 tasks on the 6 cores of each, a graph with 18, SQL with 12 (--workload sql " +
      "plans 2 a core; 4 was chosen after seeing two of Baig's tables of times)"
  )

  def of(workload: Workload): TasksPerCore =
    if (workload.kind.contains(WorkloadKind.Sql)) OfSql else OfOthers
}
