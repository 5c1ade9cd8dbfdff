package io.hearth.core.plan

/** The garbage collector and JVM flags of an executor. */
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
    "JVM: G1"
  )

  def choice(heapMb: Long): Choice = if (heapMb <= Memory.CompressedOopsMb) Parallel else G1

  /** Whether the parallel collector runs: the user's choice, else the plan's. */
  def isParallel(heapMb: Long, users: Vector[String]): Boolean =
    if (JavaOptions.choosesCollector(users)) users.contains(Parallel.flag)
    else choice(heapMb) == Parallel

  /**
   * Flags of a JVM on `cpus` CPUs, without -Xmx: those that the user did not set.
   * ActiveProcessorCount makes every pool that the JVM sizes at start count the executor's CPUs.
   *
   * @param users all that the JVM has of the user's
   */
  def own(heapMb: Long, cpus: Int, users: Vector[String]): Vector[String] = {
    val collector =
      if (JavaOptions.choosesCollector(users)) None
      else Some(choice(heapMb).flag)
    val numbers = Vector(
      "ParallelGCThreads" -> threads(cpus),
      "ActiveProcessorCount" -> cpus
    ).filterNot { case (flag, _) => JavaOptions.sets(users, flag) }
      .map { case (flag, n) => s"-XX:$flag=$n" }
    val numa = Option.unless(JavaOptions.sets(users, "UseNUMA"))("-XX:-UseNUMA")
    collector.toVector ++ YoungGeneration.options(heapMb, cpus, users) ++ numbers ++ numa ++
      SecondCompiler.options(cpus, users)
  }

  /** The JVM's own rule (HotSpot ergonomics): each CPU up to eight, then five for every eight more. */
  def threads(cpus: Int): Int = if (cpus <= 8) cpus else 8 + (cpus - 8) * 5 / 8
}
