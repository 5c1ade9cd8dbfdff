package io.hearth.core.plan

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
