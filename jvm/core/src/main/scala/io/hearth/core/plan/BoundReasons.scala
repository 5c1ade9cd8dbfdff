package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.topology.BatchLimit

/** Limits of the machine that a plan keeps to, or that the user's numbers exceed. */
object BoundReasons {
  val Quota = "cpu quota"
  val Batch = "batch limit"
  val Isolated = "isolated CPUs"
  val Tickless = "nohz_full CPUs"
  val Threads = "threads"
  val Unused = "unused memory"
  val Decisions: Set[String] = Set(Quota, Batch, Isolated, Threads)

}

final private[plan] class BoundReasons(draft: PlanDraft) {
  import BoundReasons._
  import draft._

  def all: Vector[Reason] =
    Vector(quota).flatten ++ batch ++
      Vector(isolated, tickless, new Tasks(draft).reason, unused).flatten

  private val used = usable.topology.allowed.cpuQuota
    .flatMap(_.throttledPeriods)
    .filter(_ > 0)
    .fold("")(times => s"; it has been used up in ${Counted(times, "period")} so far")

  private def quota: Option[Reason] =
    usable.quota.filter(_ => usable.quotaVariable.isEmpty).map { cpus =>
      val worth = usable.quotaSlots.getOrElse(usable.slots)
      val stops =
        s"when the quota is used up, the kernel stops all threads until the next period$used"
      val number = plain(cpus)
      def reason(because: String, source: String) =
        Reason(Quota, s"$number CPU${if (number == "1") "" else "s"}", because, source)
      if (layout.slots > worth)
        reason(
          s"$tooMany, and the cgroup's CPU time is worth $worth: $stops",
          "user"
        )
      else
        reason(
          s"no more task slots than the whole CPUs of the cgroup's quota, $worth of ${usable.slots}: $stops; the JVM " +
            "sizes its pools by it, and other applications in the cgroup share it",
          "kernel: cpu.max, cpu.cfs_quota_us"
        )
    }

  /** What a batch system gave this job, where that is less than the kernel allows or could not be read. */
  private def batch: Vector[Reason] = usable.topology.allowed.batch.flatMap { limit =>
    def reason(value: String, because: String) =
      Some(Reason(Batch, s"${limit.name} $value", because, s"${limit.system}; hearth"))
    val number = limit.cpus.filter(_ => usable.quotaVariable.contains(limit.name)).map(plain)
    limit.ignored
      .flatMap(why =>
        reason("ignored", s"$why: unset it, or give the job's part by --cores and --memory")
      )
      .orElse(
        number.flatMap(n => reason(s"= $n CPU${if (n == "1") "" else "s"}", ofBatch(limit.system)))
      )
      .orElse(batchMemory(limit).flatMap { mb =>
        val rule =
          s"the plan takes at most ${Pools.UsablePercent} % of it, and ${limit.system} may end a job that takes more"
        reason(s"= ${Sizes.show(mb)}", s"$rule; this machine has ${Sizes.show(memoryMb)}")
      })
  }

  private def ofBatch(system: String): String = {
    val worth = usable.quotaSlots.getOrElse(usable.slots)
    val kernel = s"the kernel lets it use ${Counted(usable.cpus.size, "CPU")}"
    if (layout.slots > worth)
      s"$tooMany, more than $system gave this job ($kernel): others on this machine may wait for them"
    else s"no more task slots than $system gave this job, though $kernel"
  }

  private lazy val memoryMb: Long =
    (usable.nodes ++ usable.memoryOnly).iterator.map(_.memoryMb).sum

  private def batchMemory(limit: BatchLimit): Option[Long] = usable.topology.allowed.memoryLimit
    .collect { case (bytes, limit.name) => bytes >> 20 }
    .filter(_ < memoryMb)

  private def plain(cpus: Double): String =
    BigDecimal(cpus).bigDecimal.stripTrailingZeros.toPlainString

  private def tooMany: String =
    s"${asked.mkString(" and ")} ${if (asked.size == 1) "makes" else "make"} ${Counted(layout.slots, "task slot")}"

  private def asked: Vector[String] =
    (constraints.executors ++ constraints.cores).map(_.name).toVector ++
      Option.when(constraints.taskCpus > 1)("spark.task.cpus")

  private def isolated: Option[Reason] = {
    val isolated = usable.topology.isolated
    val unbalanced = "the kernel moves no threads to or from them (isolcpus)"
    if (usable.spared.nonEmpty)
      Some(
        Reason(
          Isolated,
          s"${usable.spared} left alone",
          s"$unbalanced, so all threads of an executor would run on one; to use them, start hearth on them " +
            s"alone: taskset -c ${usable.spared}",
          "kernel: kernel-parameters, isolcpus"
        )
      )
    else
      Option.when(usable.cpus.intersects(isolated))(
        Reason(
          Isolated,
          s"${usable.cpus & isolated} used",
          s"this process may run on no others; $unbalanced, so all threads of an executor run on one of its CPUs: " +
            "--cores 1 gives each executor one",
          "kernel: kernel-parameters, isolcpus"
        )
      )
  }

  /** The kernel still spreads threads over them, so they are used. */
  private def tickless: Option[Reason] = {
    val used = usable.cpus & usable.topology.tickless
    Option.when(used.nonEmpty)(
      Reason(
        Tickless,
        s"$used used",
        "the kernel balances threads over them, but entering the kernel costs more there, and their timer stops only " +
          "while one thread runs alone (nohz_full); to keep them for the programs they were set up for, start " +
          "hearth on the others with taskset -c",
        "kernel: timers/no_hz"
      )
    )
  }

  /** What the largest heaps leave, with the option that uses it; nothing where the user chose the heap. */
  private def unused: Option[Reason] =
    Option.when(
      heapsMb.min == Memory.CompressedOopsMb && constraints.heapMb.isEmpty &&
        spareMb / layout.placements.size >= OffHeap.MinRestMb
    )(
      Reason(
        Unused,
        Sizes.show(spareMb),
        s"heaps stop at ${Sizes.show(Memory.CompressedOopsMb)}, the largest with 4-byte object references, and the " +
          s"rest only caches files; $useIt",
        "JVM: compressed oops; hearth"
      )
    )

  private def useIt: String = {
    val most = math.min(layout.slots / Widths.MinSlots, layout.placements.size + moreHeaps)
    val more = most / layout.placements.size * layout.placements.size
    if (workload.inputBytes.isEmpty && !constraints.shaped)
      "for a job that caches its data, --input with their size plans as many heaps as they need"
    else if (more > layout.placements.size && constraints.executors.isEmpty)
      s"--executors $more gives it to more heaps"
    else if (constraints.offHeapMb.isEmpty && !workload.kind.exists(OffHeap.takes))
      "--workload sql or etl gives it to data of SQL, off the heap"
    else "a larger --memory takes it, at object references of 8 bytes"
  }

  private def moreHeaps: Int =
    (spareMb / constraints.footprintOf(Memory.CompressedOopsMb)).min(1000000L).toInt
}
