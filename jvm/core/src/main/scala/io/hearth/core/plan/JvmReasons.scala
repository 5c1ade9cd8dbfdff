package io.hearth.core.plan

/** Why executors get their collector and JVM flags. */
final private[plan] class JvmReasons(draft: PlanDraft, executors: Vector[ExecutorPlan]) {
  import draft._

  def all: Vector[Reason] =
    Vector(collector) ++ youngGeneration ++
      Vector(collectorThreads, processors, numaFlag) ++ compiler

  /** The user's own options, which replace the plan's. */
  private val users: Vector[String] = allOptions

  private def users(decision: String, value: String) = {
    val settings = if (native) constraints.driverJavaOptions else constraints.javaOptions
    val places = Option.when(settings.nonEmpty)("extraJavaOptions") ++ constraints.environment.variables
    Reason(decision, value, s"set in ${places.mkString(" or ")}", "user")
  }

  private def collector = {
    val name = (users ++ executors.head.javaOptions)
      .find(_.matches("""-XX:\+Use\w+GC"""))
      .fold("the JVM's own")(_.drop(8))
    if (JavaOptions.choosesCollector(users)) users("collector", name)
    else {
      val chosen = Collector.choice(heapMb)
      Reason("collector", name, chosen.because, chosen.source)
    }
  }

  private def youngGeneration =
    YoungGeneration.limitMb(heapMb, part(0), users).map { mb =>
      if (YoungGeneration.isSet(users)) users("young generation", "as set")
      else
        Reason(
          "young generation",
          s"at most ${Sizes.show(mb)}",
          "a third of the heap, full of garbage, would cache no files: jobs of 10 to 50 s ended " +
            "1 to 12 % sooner",
          "hearth: measured on 2 CPUs"
        )
    }

  private def collectorThreads = {
    val n = executors.map(e => Collector.threads(part(e.id))).distinct.sorted
    val value = if (n.sizeIs > 1) s"${n.head} to ${n.last}" else s"${n.head}"
    JavaOptions.valueOf(users, "ParallelGCThreads") match {
      case Some(own) => users("collector threads", own)
      case None =>
        Reason(
          "collector threads",
          value,
          s"from the executor's ${if (shared) "part of its package's CPUs" else "CPUs"}, not the machine's: " +
            "one each for the first 8, 5 for every 8 more",
          "JVM: HotSpot ergonomics"
        )
    }
  }

  private def processors = JavaOptions.valueOf(users, "ActiveProcessorCount") match {
    case Some(own) => users("active processors", own)
    case None =>
      Reason(
        "active processors",
        if (shared) "its part of the CPUs" else "its CPUs",
        "pools that the JVM sizes at start count the executor's own CPUs, even if its mask changes later",
        "JVM: -XX:ActiveProcessorCount"
      )
  }

  private def numaFlag =
    if (JavaOptions.sets(users, "UseNUMA"))
      users("-XX:UseNUMA", if (users.contains("-XX:+UseNUMA")) "on" else "off")
    else {
      val because =
        if (native && usable.nodes.sizeIs == 1) "all CPUs are on one node"
        else if (native) "too few cores for a heap divided by node"
        else if (layout.nodes.forall(_.size == 1))
          "the executor is bound to the memory of one node, so there is nothing to divide"
        else "executors are bound; no measurement shows that dividing the heap by node pays there"
      Reason("-XX:UseNUMA", "off", because, "JVM: -XX:+UseNUMA")
    }

  private def compiler =
    if (executors.forall(e => part(e.id) > SecondCompiler.FewCpus)) None
    else if (SecondCompiler.isSet(users)) Some(users("second compiler", "as set"))
    else
      Some(
        Reason(
          "second compiler",
          s"at ${SecondCompiler.Times} times the JVM's own counts",
          "on 1 or 2 CPUs it takes CPU time from tasks: jobs of 6 to 14 s ended 7 to 14 % sooner",
          "hearth: measured on 2 CPUs"
        )
      )
}
