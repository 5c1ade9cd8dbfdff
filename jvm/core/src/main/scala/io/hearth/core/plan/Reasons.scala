package io.hearth.core.plan

/** Why each decision of a plan was taken: a sentence and its source, in the order of the decisions. */
final private[plan] class Reasons(draft: PlanDraft, executors: Vector[ExecutorPlan]) {
  import draft._

  def all: Vector[Reason] =
    Vector(partition, cpus, threads, width) ++ placement ++ Vector(
      memory,
      heap,
      offHeap,
      overhead
    ) ++
      Vector(collector, collectorThreads, processors, numaFlag, driverPlace, driverHeap, scratch) ++
      Vector(shuffle) ++ locality ++ hosts ++ users

  private def partition =
    Reason("partition", if (native) "native" else "partitioned", choice.because, choice.source)

  private def cpus = {
    val topology = ground.topology
    val outside = (topology.cpus &~ topology.allowed.cpus).size
    val taken = (topology.allowed.cpus & topology.cpus).size - ground.cpus.size
    val notes = Vector(
      Option.when(outside > 0)(
        s"$outside CPUs of the machine are outside this process's affinity or cpuset"
      ),
      Option.when(taken > 0)(s"$taken are occupied by other applications"),
      Option.when(outside == 0 && taken == 0)("this process may use every CPU of the machine")
    ).flatten
    Reason(
      "cpus",
      ground.cpus.toString,
      notes.mkString("; "),
      "kernel: sched_getaffinity(2), cpuset"
    )
  }

  private def threads = {
    val most = ground.cores.iterator.map(_.cpus.size).max
    val kinds = ground.cores.flatMap(_.kind).distinct
    val hybrid =
      if (kinds.sizeIs > 1) s"; all core kinds (${kinds.mkString(", ")}) are used" else ""
    fixed.cores match {
      case Some(asked) =>
        Reason("threads per core", "as asked", s"${asked.name} fixes the tasks$hybrid", "user")
      case None if most > 4 =>
        val because =
          s"of $most hardware threads 4 are worth a task: memory bandwidth saturates before " +
            s"threads run out; the others serve the collector and the compiler$hybrid"
        Reason("threads per core", "4", because, "S1")
      case None if most > 1 =>
        val because =
          s"every hardware thread is worth a task: a second thread made cores 39.5 % faster$hybrid"
        Reason("threads per core", s"$most", because, "S4")
      case None =>
        Reason(
          "threads per core",
          "1",
          s"cores have one hardware thread$hybrid",
          "kernel: topology"
        )
    }
  }

  private def slotsText =
    if (layout.uniform) s"${layout.sites.size} x ${layout.narrowest}"
    else s"${layout.sites.size} x ${layout.narrowest} to ${layout.widest}"

  private def width = {
    val names = (fixed.executors ++ fixed.cores ++ fixed.coresMax).map(_.name)
    val asked = names.mkString(" and ")
    if (native)
      Reason(
        "executors",
        slotsText,
        "one JVM with a task for each worthwhile thread",
        "Spark: local[n]"
      )
    else if (names.nonEmpty) Reason("executors", slotsText, s"$asked fixed by the user", "user")
    else if (fixed.dynamic.nonEmpty)
      Reason(
        "executors",
        slotsText,
        "places for dynamic allocation to fill, at most its maxExecutors",
        "user"
      )
    else Reason("executors", slotsText, widthRule, "S4; JVM: compressed oops")
  }

  private def widthRule =
    s"about ${Layouts.TargetSlots} task slots each: at 4 GB of heap a slot that is the most a heap " +
      "below the compressed-oops limit serves; every core is used, so widths may differ by a core" +
      fixed.dynamic.fold("")(_ => "; dynamic allocation fills the places")

  private def placement: Option[Reason] = Option.unless(native) {
    val single = executors.forall(_.memoryNodes.size == 1)
    val (value, because) =
      if (insideCaches)
        (
          "last-level cache",
          "each executor's CPUs share a last-level cache, the tightest place that serves"
        )
      else if (single)
        (
          "NUMA node",
          "each executor stays inside one NUMA node: remote memory costs about 10 % on average"
        )
      else
        (
          "several NUMA nodes",
          "an executor is wider than a node, or its node has too little memory"
        )
    Reason("placement", value, because, if (single) "S3; S4" else "hearth")
  }

  private def insideCaches = layout.sites.forall { site =>
    val caches = site.cpus.iterator.map(ground.coreOf(_).cache).toSet
    caches.sizeIs == 1 && !caches.contains(-1)
  }

  private def memory = {
    val limit = ground.topology.allowed.memoryLimitBytes
      .fold("")(bytes =>
        s" or of the cgroup's limit (${Sizes.show(bytes >> 20)}), shared in proportion"
      )
    val out =
      if (pools.leftOut.isEmpty) ""
      else s"; nodes ${pools.leftOut} serve no executor (no CPU of the plan, or too little memory)"
    val lent =
      if (pools.borrowed.isEmpty) ""
      else s"; CPUs of nodes ${pools.borrowed} use the nearest node with enough memory"
    Reason(
      "memory",
      s"${Sizes.show(layout.roomMb)} for each executor",
      s"${Pools.UsablePercent} % of its node's memory$limit; the rest is for the kernel, the page cache and Python$out$lent",
      "kernel: node meminfo, cgroup"
    )
  }

  private def heap = fixed.heapMb match {
    case Some(asked) => Reason("heap", Sizes.show(heapMb), s"${asked.name} fixes it", "user")
    case None if heapMb == Memory.CompressedOopsMb =>
      Reason(
        "heap",
        Sizes.show(heapMb),
        "the largest heap with 4-byte object references",
        "S4; JVM: compressed oops"
      )
    case None =>
      Reason(
        "heap",
        Sizes.show(heapMb),
        "what the executor's memory holds beside overhead and off-heap memory",
        "kernel: node meminfo, cgroup"
      )
  }

  private def offHeap = fixed.offHeapMb match {
    case Some(asked) => Reason("off-heap", Sizes.show(offHeapMb), s"${asked.name} fixes it", "user")
    case None if offHeapMb > 0 =>
      Reason(
        "off-heap",
        Sizes.show(offHeapMb),
        "SQL operators can keep their data off the heap, where the collector does not look; half of what is left",
        "Spark: memory management"
      )
    case None =>
      Reason(
        "off-heap",
        "0 MB",
        "only for sql and etl where at least 8 GB are left beside the heap",
        "Spark: memory management"
      )
  }

  private def overhead =
    Reason(
      "overhead",
      Sizes.show(overheadMb),
      "threads, metaspace, code and direct buffers: at least 384 MB and a tenth of the heap",
      fixed.overheadMb.fold("Spark: spark.executor.memoryOverhead")(_ => "user")
    )

  private def options = executors.head.javaOptions

  private def collector = {
    val name = options.find(_.matches("""-XX:\+Use\w+GC""")).fold("")(_.drop(8))
    val own =
      if (native) fixed.conf.get("spark.driver.extraJavaOptions")
      else fixed.conf.get("spark.executor.extraJavaOptions")
    if (own.exists(o => JavaOptions.choosesCollector(JavaOptions.split(o))))
      Reason("collector", name, "chosen in extraJavaOptions", "user")
    else if (Collector.parallel(heapMb))
      Reason(
        "collector",
        name,
        "batch work wants throughput; one JVM on 120 cores ran 3.3 times faster with it than with G1",
        "S5; S4"
      )
    else
      Reason(
        "collector",
        name,
        "above the compressed-oops limit the pauses of a parallel collection grow too long",
        "JVM: G1"
      )
  }

  private def collectorThreads = {
    val n = executors.map(e => Collector.threads(e.cpus.size)).distinct.sorted
    val value = if (n.sizeIs > 1) s"${n.head} to ${n.last}" else s"${n.head}"
    Reason(
      "collector threads",
      value,
      "by the executor's CPUs, not the machine's: all of them up to 8, five of every eight beyond",
      "JVM: HotSpot ergonomics"
    )
  }

  private def processors =
    Reason(
      "active processors",
      "its CPUs",
      "pools that the JVM sizes at start count what the executor owns, even if it is widened or narrowed later",
      "JVM: -XX:ActiveProcessorCount"
    )

  private def numaFlag =
    Reason(
      "-XX:UseNUMA",
      "off",
      if (native) "one node, or too few cores for a heap divided by node"
      else "the executor is bound, so all its memory is local already",
      "JVM: -XX:+UseNUMA"
    )

  private def driverPlace = {
    val because =
      if (native) "the driver is the one JVM"
      else if (driver.bound)
        "on the CPUs that executors leave free, so that they do not disturb each other"
      else
        "executors use every CPU and the driver is idle while they work, so it runs wherever there is room"
    Reason("driver", if (driver.bound) s"CPUs ${driver.cpus}" else "unbound", because, "hearth")
  }

  private def driverHeap = fixed.driverHeapMb match {
    case Some(asked) =>
      Reason("driver heap", Sizes.show(driverHeapMb), s"${asked.name} fixes it", "user")
    case None if native =>
      Reason(
        "driver heap",
        Sizes.show(driverHeapMb),
        "the driver is the one JVM",
        "Spark: local[n]"
      )
    case None =>
      Reason(
        "driver heap",
        Sizes.show(driverHeapMb),
        "a sixteenth of the memory, 512 MB to 4 GB; taken from all nodes in proportion",
        "hearth"
      )
  }

  private def scratch = fixed.conf.get("spark.local.dir") match {
    case Some(dir) => Reason("spark.local.dir", dir, "fixed by the user", "user")
    case None =>
      val source = localDir.path.fold("kernel: tmpfs")(_ => "S5; kernel: tmpfs")
      Reason("spark.local.dir", localDir.path.getOrElse("left alone"), localDir.because, source)
  }

  private def shuffle = {
    val users = Vector("spark.sql.shuffle.partitions", "spark.default.parallelism").filter(
      fixed.conf.contains
    )
    val rule =
      s"a multiple of the $atOnce tasks that run at once, so that no last wave runs short; " +
        workload.inputBytes.fold("two waves, as the input is unknown")(_ =>
          "one for each 128 MB of input"
        )
    val kept = if (users.isEmpty) "" else s"; ${users.mkString(" and ")} as the user set"
    Reason(
      "shuffle partitions",
      s"$partitions",
      rule + kept,
      if (users.sizeIs == 2) "user" else "Spark: spark.sql.files.maxPartitionBytes"
    )
  }

  private def locality = Option.unless(native || Settings.waitsAsSet(fixed))(
    Reason(
      "locality wait",
      "process and node 100ms, rack 0s",
      "another node's memory costs about 10 %, a waiting task slot costs all of itself; Spark " +
        "looks for tasks that waited long enough every 100 ms too, not every second",
      "S4; Spark: spark.locality.wait, spark.scheduler.revive.interval"
    )
  )

  private def hosts: Option[Reason] = Option.unless(native) {
    val perNode =
      executors.map(_.host).distinct.size < executors.size || layout.nodes.distinct.sizeIs > 1
    val because =
      if (perNode) "a NUMA node is a host to Spark's scheduler"
      else "on one node every executor is a host"
    Reason(
      "hosts",
      s"${executors.map(_.host).distinct.size}",
      s"$because, so that locality, speculation and exclusion work within the machine",
      "Spark: TaskSetManager"
    )
  }

  private def users: Vector[Reason] =
    fixed.conf.toVector.sorted.map { case (key, value) =>
      Reason(key, value, "fixed by the user", "user")
    }
}
