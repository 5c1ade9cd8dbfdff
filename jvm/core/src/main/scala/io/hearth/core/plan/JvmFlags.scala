package io.hearth.core.plan

/** A decision about executors' JVMs: the flags of each, by the executor's id, and why. */
final private[plan] case class JvmDecision(flags: Int => Vector[String], reason: Option[Reason])

/**
 * Collector and flags of executors' JVMs, without -Xmx, each decision with its reason. What the user has set
 * stands, and has no flag here.
 *
 * `ActiveProcessorCount` makes every pool that the JVM sizes at start count the executor's CPUs.
 */
final private[plan] class JvmFlags(draft: PlanDraft) {
  import draft._

  private val users: Vector[String] = allOptions
  private val ids: Vector[Int] = layout.placements.indices.toVector

  private val decisions: Vector[JvmDecision] =
    Vector(collector, youngGeneration, collectorThreads, processors, numa, compiler)

  def of(id: Int): Vector[String] = decisions.flatMap(_.flags(id))
  def reasons: Vector[Reason] = decisions.flatMap(_.reason)

  private def planned(reason: Reason)(flags: Int => Vector[String]) =
    JvmDecision(flags, Some(reason))

  private def byUser(decision: String, value: String): JvmDecision = {
    val settings = if (native) constraints.driverJavaOptions else constraints.javaOptions
    val places =
      Option.when(settings.nonEmpty)("extraJavaOptions") ++ constraints.environment.variables
    planned(Reason(decision, value, s"set in ${places.mkString(" or ")}", "user"))(none)
  }

  private def none: Int => Vector[String] = _ => Vector.empty

  private def collector = JavaOptions.collector(users) match {
    case Some(flag) => byUser("collector", Collector.name(flag))
    case None =>
      val chosen = Collector.choice(heapMb)
      planned(Reason("collector", Collector.name(chosen.flag), chosen.because, chosen.source))(id =>
        Vector(Collector.choice(heapsMb(id)).flag)
      )
  }

  private def youngGeneration = YoungGeneration.limitMb(heapMb, part(0), users) match {
    case Some(_) if YoungGeneration.isSet(users) => byUser("young generation", "as set")
    case limit =>
      val reason = limit.map(mb =>
        Reason(
          "young generation",
          s"at most ${Sizes.show(mb)}",
          "the JVM's default, a third of the heap, takes memory that would cache files: jobs of " +
            "10 to 50 s ended 1 to 12 % sooner",
          "hearth: measured on 2 CPUs"
        )
      )
      JvmDecision(id => YoungGeneration.options(heapsMb(id), part(id), users), reason)
  }

  private def collectorThreads = number("collector threads", "ParallelGCThreads") {
    val n = ids.map(id => Collector.threads(part(id))).distinct.sorted
    Reason(
      "collector threads",
      if (n.sizeIs > 1) s"${n.head} to ${n.last}" else s"${n.head}",
      s"from the executor's ${if (layout.shared) "part of its package's CPUs" else "CPUs"}, not the machine's: " +
        "one each for the first 8, 5 for every 8 more",
      "JVM: HotSpot ergonomics"
    )
  }(id => Collector.threads(part(id)))

  private def processors = number("active processors", "ActiveProcessorCount")(
    Reason(
      "active processors",
      if (layout.shared) "its part of the CPUs" else "its CPUs",
      "the JVM sizes its thread pools by the executor's own CPUs, even if its mask changes later",
      "JVM: -XX:ActiveProcessorCount"
    )
  )(part)

  private def number(decision: String, flag: String)(reason: => Reason)(value: Int => Int) =
    if (JavaOptions.sets(users, flag))
      JavaOptions.valueOf(users, flag).fold(JvmDecision(none, Some(reason)))(byUser(decision, _))
    else planned(reason)(id => Vector(s"-XX:$flag=${value(id)}"))

  private def numa =
    if (JavaOptions.sets(users, "UseNUMA"))
      byUser("-XX:UseNUMA", if (users.contains("-XX:+UseNUMA")) "on" else "off")
    else {
      val because =
        if (native && usable.nodes.sizeIs == 1) "all CPUs are on one node"
        else if (native) "too few cores for a heap divided by node"
        else if (layout.nodes.forall(_.size == 1))
          "the executor is bound to the memory of one node, so there is nothing to divide"
        else "executors are bound; no measurement shows that dividing the heap by node pays there"
      planned(Reason("-XX:UseNUMA", "off", because, "JVM: -XX:+UseNUMA"))(_ =>
        Vector("-XX:-UseNUMA")
      )
    }

  private def compiler = {
    val few = ids.exists(id => part(id) <= SecondCompiler.FewCpus)
    if (few && SecondCompiler.isSet(users)) byUser("second compiler", "as set")
    else {
      val reason = Reason(
        "second compiler",
        s"at ${SecondCompiler.Times} times the JVM's own counts",
        "on 1 or 2 CPUs it takes CPU time from tasks: jobs of 8 to 17 s ended 2 to 7 % sooner" +
          (if (native)
             "; it leaves out Janino, ANTLR and ASM, a third of what it compiled of queries"
           else ""),
        "hearth: measured on 2 CPUs"
      )
      JvmDecision(id => SecondCompiler.options(part(id), users), Option.when(few)(reason))
    }
  }
}

/** The garbage collector of an executor. */
private[plan] object Collector {

  /** A collector's flag, and why it suits a heap. */
  final case class Choice(flag: String, because: String, source: String)

  private val Parallel = Choice(
    "-XX:+UseParallelGC",
    "batch work wants throughput; one JVM on 120 cores ran 3.3 times faster with it than with G1",
    "Kyong 2017"
  )

  private val G1 = Choice(
    "-XX:+UseG1GC",
    s"on a heap above ${Sizes.show(Memory.CompressedOopsMb)} the pauses of a parallel collection " +
      "grow too long",
    "hearth"
  )

  def choice(heapMb: Long): Choice = if (heapMb <= Memory.CompressedOopsMb) Parallel else G1

  /** Whether the parallel collector runs: the user's choice, else the plan's. */
  def isParallel(heapMb: Long, users: Vector[String]): Boolean =
    if (JavaOptions.choosesCollector(users)) users.contains(Parallel.flag)
    else choice(heapMb) == Parallel

  /** Such as `ParallelGC`, of its flag. */
  def name(flag: String): String = flag.stripPrefix("-XX:+Use")

  /** The JVM's own rule (HotSpot ergonomics): each CPU up to eight, then five for every eight more. */
  def threads(cpus: Int): Int = if (cpus <= 8) cpus else 8 + (cpus - 8) * 5 / 8
}

/**
 * How large a parallel collector's young generation may grow. HotSpot's own limit is a third of the
 * heap, which garbage soon fills: memory that then caches no files, and whose pages the kernel has to
 * clear first.
 */
private[plan] object YoungGeneration {
  private val MbPerCpu = 512
  private val OwnShare = 3

  /** In MB, where it is below HotSpot's own; for few CPUs, as no others were measured. */
  def limitMb(heapMb: Long, cpus: Int, users: Vector[String]): Option[Long] = {
    val limit = MbPerCpu.toLong * cpus
    val few = cpus <= SecondCompiler.FewCpus
    Option.when(few && limit < heapMb / OwnShare && Collector.isParallel(heapMb, users))(limit)
  }

  /** The flag for a JVM on `cpus` CPUs; none where the user has set a size. */
  def options(heapMb: Long, cpus: Int, users: Vector[String]): Vector[String] =
    if (isSet(users)) Vector.empty
    else limitMb(heapMb, cpus, users).map(mb => s"-XX:MaxNewSize=${mb}m").toVector

  def isSet(users: Vector[String]): Boolean =
    users.exists(_.matches("-Xmn.*|-XX:(NewSize|MaxNewSize|NewRatio)=.*"))
}

/**
 * When a JVM's second compiler (HotSpot's C2) is asked for. It makes the fastest code and takes the most
 * time for it: 47 % of an executor's CPU time on one CPU until its first task has ended.
 */
private[plan] object SecondCompiler {

  /** Where the gain was measured (benchmarks/figures.md, "The second compiler"). */
  val FewCpus = 2
  val Times = 3

  /** HotSpot's own counts of calls and of rounds of loops, for all its versions from 17 to 25. */
  private val Counts = Vector(
    "Tier4InvocationThreshold" -> 5000,
    "Tier4MinInvocationThreshold" -> 600,
    "Tier4CompileThreshold" -> 15000,
    "Tier4BackEdgeThreshold" -> 40000
  )

  /** The flags for a JVM on `cpus` CPUs; none where the user has set when or what to compile. */
  def options(cpus: Int, users: Vector[String]): Vector[String] =
    if (cpus > FewCpus || isSet(users)) Vector.empty
    else Counts.map { case (flag, count) => s"-XX:$flag=${count * Times}" }

  def isSet(users: Vector[String]): Boolean =
    users.exists(_.matches("-Xint|-Xcomp|-XX:[+-]?(Tier|CompileThreshold).*"))
}
