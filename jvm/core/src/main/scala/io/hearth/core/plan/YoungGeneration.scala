package io.hearth.core.plan

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
