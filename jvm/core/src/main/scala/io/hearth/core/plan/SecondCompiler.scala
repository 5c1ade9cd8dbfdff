package io.hearth.core.plan

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
