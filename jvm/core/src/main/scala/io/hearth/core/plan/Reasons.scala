package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.Redaction

/** Why each decision of a plan was made: a sentence and its source, in the order of the decisions. */
final private[plan] class Reasons(draft: PlanDraft, executors: Vector[ExecutorPlan]) {
  import draft._

  private val bounds = new BoundReasons(draft)

  def all: Vector[Reason] =
    Vector(
      partition,
      choice.expected,
      cpus,
      threads,
      width
    ) ++ Engine.reason(constraints) ++ bounds.all ++ placement ++ memory ++ jvm.reasons ++
      Vector(
        driver.reason,
        driverHeap.reason,
        localDir.reason,
        partitions.reason
      ) ++ ShuffleFiles.reason(constraints) ++ Joins.reason(constraints) ++
      GeneratedClasses.reason(leastHeapMb, constraints) ++ locality ++ hosts ++ handOver ++ users

  private def memory =
    (memoryReason +: tiersReason.toVector) ++
      Vector(heaps.reason, offHeap.reason, overhead.reason, pageCache.reason)

  private def partition =
    Reason("partition", if (native) "native" else "partitioned", choice.because, choice.source)

  private def cpus = {
    val topology = usable.topology
    val outside = (topology.cpus &~ topology.allowed.cpus).size
    val taken = usable.allowed.size - usable.cpus.size
    val notes = Vector(
      Option.when(outside > 0)(
        s"${Counted(outside, "CPU")} of the machine ${if (outside == 1) "is" else "are"} outside this process's affinity or cpuset"
      ),
      Option.when(taken > 0)(
        s"$taken ${if (taken == 1) "is" else "are"} occupied by other applications"
      ),
      Option.when(usable.spared.nonEmpty)(
        s"${usable.spared.size} ${if (usable.spared.size == 1) "is" else "are"} isolated"
      ),
      Option.when(outside == 0 && taken == 0 && usable.spared.isEmpty)(
        "this process may use every CPU of the machine"
      )
    ).flatten
    Reason(
      "cpus",
      usable.cpus.toString,
      notes.mkString("; "),
      "kernel: sched_getaffinity(2), cpuset"
    )
  }

  private def threads = {
    val most = usable.cores.iterator.map(_.cpus.size).max
    val kinds = usable.cores.flatMap(_.kind).distinct
    val slower = usable.cores.count(_.efficient)
    val hybrid =
      if (slower > 0)
        s"; $slower slower cores count as ${usable.cores.filter(_.efficient).map(_.slots).sum} (three for four is " +
          "hearth's judgement), and no executor has cores of both kinds unless it is the only one"
      else if (kinds.sizeIs > 1) s"; all core kinds (${kinds.mkString(", ")}) are used"
      else ""
    def reason(value: String, because: String, source: String) =
      Reason("threads per core", value, because + hybrid, source)
    constraints.cores match {
      case Some(asked) => reason("as asked", s"${asked.name} fixes the tasks", "user")
      case None if most > UsableMachine.MostTasksPerCore =>
        reason(
          s"${UsableMachine.MostTasksPerCore}",
          s"of $most hardware threads ${UsableMachine.MostTasksPerCore} are worth a task: memory bandwidth " +
            "saturates before threads run out; the others are for the collector and the compiler (the " +
            "number was chosen after seeing two of Baig's tables of times)",
          "Baig 2018; hearth"
        )
      case None if most > 1 =>
        reason(
          s"$most",
          "every hardware thread is worth a task: a second thread made two cores 39.5 % faster, and gains less beyond four",
          "Awan 2016"
        )
      case None if usable.topology.cores.exists(_.cpus.size > 1) =>
        reason("1", "one hardware thread of each core may be used", "kernel: sched_getaffinity(2)")
      case None => reason("1", "cores have one hardware thread", "kernel: topology")
    }
  }

  private def slotsText =
    if (layout.uniform) s"${layout.placements.size} x ${layout.narrowest}"
    else s"${layout.placements.size} x ${layout.narrowest} to ${layout.widest}"

  private def width = {
    val names = (constraints.executors ++ constraints.cores ++ constraints.coresMax).map(_.name)
    val (because, source) =
      if (native && layout.narrowed) (s"one JVM; $narrowed", "hearth")
      else if (native && usable.quotaSlots.nonEmpty)
        ("one JVM with a task for each whole CPU of the quota", "Spark: local[n]")
      else if (native) ("one JVM with a task for each worthwhile thread", "Spark: local[n]")
      else if (names.nonEmpty)
        (s"${names.mkString(" and ")} fixed by the user$andNarrowed", "user")
      else if (constraints.dynamic.nonEmpty)
        (s"places for dynamic allocation to fill, at most its maxExecutors$andNarrowed", "user")
      else {
        val (rule, source) = widthRule
        (rule + andNarrowed, source)
      }
    Reason("executors", slotsText, because, source)
  }

  /** The rule that chose the width; where there are fewer executors than it wants, why. */
  private def widthRule: (String, String) = {
    val widths = new Widths(usable, pools, constraints, workload)
    val wanted = widths.count(usable.quotaSlots.getOrElse(usable.slots))
    val fewer =
      if (layout.placements.size < wanted) s"; memory suffices for ${layout.placements.size}"
      else ""
    val rules = widths.rules
    (
      rules.map(_.because).mkString("; ") + fewer,
      rules.flatMap(_.source.split("; ")).distinct.mkString("; ")
    )
  }

  private def narrowed =
    s"${layout.slots} of ${usable.slots} worthwhile threads have a task slot, as each needs " +
      s"${Memory.LeastTaskMb} MB of heap beyond the ${Memory.ReservedMb} MB that Spark reserves"

  private def andNarrowed = if (layout.narrowed) s"; $narrowed" else ""

  private def placement: Option[Reason] = Option.unless(native) {
    val places = Locality.of(usable, layout)
    if (shared) sharedPlacement
    else if (places.forall(_.local)) localPlacement(places)
    else spreadPlacement(places)
  }

  private def sharedPlacement = {
    val each = layout.placements.groupBy(_.cpus).values.map(_.size).toVector.sorted
    val number = if (each.head == each.last) s"${each.head}" else s"${each.head} to ${each.last}"
    Reason(
      "placement",
      "package",
      s"each executor may use every CPU of its package and the memory of its nodes, shared by $number " +
        "executors: the kernel evens out load between them, and memory may come from another node of the " +
        "package; no study in docs/sources.md measured this",
      "user"
    )
  }

  private def localPlacement(places: Vector[Locality]) = {
    val remote =
      if (usable.topology.nodes.sizeIs > 1) ": remote memory costs about 10 % on average" else ""
    if (places.forall(_.oneCache))
      Reason(
        "placement",
        "last-level cache",
        "each executor's CPUs share a last-level cache, the tightest place that fits, and its " +
          s"memory is their NUMA node's$remote",
        "Chiba 2015; Awan 2016"
      )
    else
      Reason(
        "placement",
        "NUMA node",
        s"each executor stays inside one NUMA node, with its CPUs and its memory$remote",
        "Chiba 2015; Awan 2016"
      )
  }

  /** How many executors have their CPUs or their memory elsewhere than on one node, and why. */
  private def spreadPlacement(places: Vector[Locality]) = {
    def count(n: Int, what: String) =
      Option.when(n > 0)(
        s"$n of ${Counted(places.size, "executor")} ${if (n == 1) "has" else "have"} $what"
      )
    val notes = Vector(
      count(places.count(!_.cpusOnOneNode), "CPUs on several NUMA nodes"),
      count(places.count(_.memoryNodes.size > 1), "memory on several NUMA nodes"),
      count(
        places.count(p => p.cpusOnOneNode && p.memoryNodes.size == 1 && !p.local),
        "memory on a node other than their CPUs'"
      )
    ).flatten
    val why =
      "an executor is wider than a node, or a node has too little usable memory"
    Reason(
      "placement",
      if (places.forall(_.cpusOnOneNode)) "CPUs on one NUMA node" else "several NUMA nodes",
      s"${notes.mkString(", ")}: $why",
      "hearth"
    )
  }

  private def locality = Option.unless(native || DerivedSettings.waitsAsSet(constraints))(
    Reason(
      "locality wait",
      "process and node 100ms, rack 0s",
      "memory on another node costs about 10 %, a waiting task slot 100 %; Spark also checks every " +
        "100 ms, not every second, for tasks that have waited long enough",
      "Awan 2016; Spark: spark.locality.wait, spark.scheduler.revive.interval"
    )
  )

  private def hosts: Option[Reason] = Option.unless(native) {
    val perNode =
      executors.map(_.host).distinct.size < executors.size || layout.nodes.distinct.sizeIs > 1
    val because =
      if (shared && perNode) "a package is a host to Spark's scheduler"
      else if (perNode) "a NUMA node is a host to Spark's scheduler"
      else "on one node every executor is a host"
    Reason(
      "hosts",
      s"${executors.map(_.host).distinct.size}",
      s"$because, so that locality, speculation and exclusion work within the machine",
      "Spark: TaskSetManager"
    )
  }

  /** What the mode does by this plan; nothing where it can do nothing. */
  private def handOver: Option[Reason] = {
    val mode = constraints.conf.getOrElse(HearthKeys.HandOverKey, "off")
    val within = Option.when(executors.sizeIs > 1)(
      "CPUs of idle executors are opened, while no task is pending, to executors whose threads wait for CPUs, as " +
        "native threads in a stage's last tasks do"
    )
    val between =
      "CPUs of executors that have been idle for a second run other applications' pending tasks, " +
        "and theirs run this one's"
    val because = mode match {
      case "off" if shared =>
        Some("executors share the CPUs of their package, so an idle one's are in use")
      case "off" =>
        val tail = within.map(does => s"; with ${HearthKeys.HandOverKey}=tail $does")
        Some(
          s"each executor keeps to its own CPUs${tail.getOrElse("")}; with =applications $between"
        )
      case "tail" => within
      case "applications" => Some(between)
      case _ => Some((within.toVector :+ between).mkString("; "))
    }
    because.filterNot(_ => native).map(Reason(Reasons.HandOver, mode, _, "Kyong 2017; hearth"))
  }

  private def users: Vector[Reason] =
    constraints.conf.removed(DerivedSettings.Redaction).toVector.sorted.map { case (key, value) =>
      Reason(key, redaction.setting(key, value), Reasons.FixedByUser, "user")
    }

  private def redaction = Redaction.of(constraints.conf.get)
}

private[plan] object Reasons {
  val HandOver = "hand-over"
  val FixedByUser = "fixed by the user"
}
