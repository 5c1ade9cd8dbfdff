package io.hearth.core.placement

import io.hearth.core.Counted
import io.hearth.core.launch.Binding
import io.hearth.core.topology.IdSet

/**
 * One way in which an executor is not where its plan says.
 *
 * @param kind identifies the deviation, whatever numbers the sentence has
 * @param sentence to follow the executor's name
 */
final case class Deviation(kind: String, sentence: String)

/** Compares what the kernel says of an executor with its plan. */
object PlacementCheck {

  /**
   * Share of anonymous memory that may lie on other nodes before it is drift. Bound before its first
   * instruction a process has none there; the allowance is for pages of the C library's loader.
   */
  val AnonymousElsewhere: Double = 0.01

  /**
   * Part of its fair share of threads below which a planned CPU counts as abandoned. A thread
   * counts on each CPU that it may use with one part in their number, so threads that the
   * application itself has spread over the place, one on each CPU, leave no CPU short.
   */
  val FairShare: Double = 0.5

  /**
   * @param lent CPUs of other places that it may use for a while
   * @return one for each deviation; empty when the executor is as planned
   */
  def drift(
      expected: Binding,
      actual: ProcessPlacement,
      lent: IdSet = IdSet.empty
  ): Vector[Deviation] =
    cpuDrift(expected, actual, lent) ++ Vector(
      nodesDrift(expected, actual.memsAllowed),
      policyDrift(expected, actual),
      memoryDrift(expected, actual)
    ).flatten.filter(_ => expected.memoryNodes.nonEmpty)

  /** Worth knowing, but not drift: threads that the application has pinned inside its place, a loan. */
  def notes(
      expected: Binding,
      actual: ProcessPlacement,
      lent: IdSet = IdSet.empty
  ): Vector[String] = {
    val open = usable(expected, actual)
    val pinned = inside(expected, actual.threads, lent).filterNot(t => open.subsetOf(t.cpus))
    Vector(
      Option.when(pinned.nonEmpty && leftShort(open, masks(expected, actual, lent)).isEmpty)(
        s"keeps ${count(pinned, actual.threads)} to some of its CPUs: ${ThreadSummary.show(pinned)}"
      ),
      Option.when(lent.nonEmpty)(s"may use CPUs $lent, which other executors leave idle")
    ).flatten
  }

  private[placement] def nodesDrift(expected: Binding, allowed: IdSet): Option[Deviation] = {
    val missing = expected.memoryNodes &~ allowed
    Option.when(missing.nonEmpty)(
      Deviation(
        "nodes",
        s"may not use ${missing.named("memory node")} of its plan: its cpuset allows $allowed"
      )
    )
  }

  /**
   * The planned CPUs that are left to too few threads, of those whose masks these are.
   *
   * @param masks of threads that may not leave `cpus`
   */
  private[placement] def leftShort(cpus: IdSet, masks: Map[IdSet, Int]): IdSet = {
    val shares = for {
      (mask, threads) <- masks.toVector
      used = mask & cpus
      cpu <- used.iterator
    } yield cpu -> threads.toDouble / used.size
    val share = shares.groupMapReduce(_._1)(_._2)(_ + _).withDefaultValue(0.0)
    val fair = masks.valuesIterator.sum.toDouble / cpus.size
    IdSet.from(cpus.iterator.filter(share(_) < FairShare * fair))
  }

  private def cpuDrift(
      expected: Binding,
      actual: ProcessPlacement,
      lent: IdSet
  ): Vector[Deviation] =
    Vector(
      offline(expected, actual),
      elsewhere(expected.cpus | lent, actual.threads),
      givenUp(expected, actual, lent)
    ).flatten

  private def offline(expected: Binding, actual: ProcessPlacement): Option[Deviation] = {
    val off = expected.cpus &~ actual.cpusOnline.getOrElse(expected.cpus)
    Option.when(off.nonEmpty)(
      Deviation("offline", s"has CPUs $off of its plan offline, planned ${expected.cpus}")
    )
  }

  private def elsewhere(open: IdSet, threads: Vector[ThreadPlacement]): Option[Deviation] = {
    val strays = threads.filterNot(_.cpus.subsetOf(open))
    Option.when(strays.nonEmpty)(
      Deviation(
        if (strays.size * 2 > threads.size) "most threads elsewhere" else "threads elsewhere",
        s"has ${count(strays, threads)} that may run outside CPUs $open: " +
          ThreadSummary.show(strays)
      )
    )
  }

  private def givenUp(
      expected: Binding,
      actual: ProcessPlacement,
      lent: IdSet
  ): Option[Deviation] = {
    val short = leftShort(usable(expected, actual), masks(expected, actual, lent))
    val barred = inside(expected, actual.threads, lent).filterNot(t => short.subsetOf(t.cpus))
    Option.when(short.nonEmpty)(
      Deviation(
        s"CPUs $short",
        s"has ${count(barred, actual.threads)} that may not run on CPUs $short, planned " +
          s"${expected.cpus}: ${ThreadSummary.show(barred)}"
      )
    )
  }

  private def usable(expected: Binding, actual: ProcessPlacement): IdSet =
    actual.cpusOnline.fold(expected.cpus)(expected.cpus & _)

  private def inside(expected: Binding, threads: Vector[ThreadPlacement], lent: IdSet) =
    threads.filter(_.cpus.subsetOf(expected.cpus | lent))

  private def masks(expected: Binding, actual: ProcessPlacement, lent: IdSet): Map[IdSet, Int] =
    inside(expected, actual.threads, lent).groupMapReduce(_.cpus)(_ => 1)(_ + _)

  private def count(some: Vector[ThreadPlacement], all: Vector[ThreadPlacement]): String =
    s"${some.size} of ${Counted(all.size, "thread")}"

  /** A cpuset with only the planned nodes binds whatever the policy is, as in a container. */
  private def policyDrift(expected: Binding, actual: ProcessPlacement): Option[Deviation] = {
    val planned = s"bind:${expected.memoryNodes}"
    val others = actual.policies.removed(planned)
    val bound = actual.memsAllowed.subsetOf(expected.memoryNodes)
    val names = others.keys.toVector.sorted.mkString(", ")
    Option.when(others.nonEmpty && !bound)(
      Deviation("policy", s"has anonymous mappings under policy $names, planned $planned")
    )
  }

  private def memoryDrift(expected: Binding, actual: ProcessPlacement): Option[Deviation] = {
    val elsewhere = actual.anonymousBytes.collect {
      case (node, bytes) if !expected.memoryNodes.contains(node) => bytes
    }.sum
    val share = if (actual.anonymousTotal == 0) 0.0 else elsewhere.toDouble / actual.anonymousTotal
    Option.when(share > AnonymousElsewhere)(
      Deviation(
        "memory",
        f"has ${share * 100}%.1f %% of its anonymous memory outside ${expected.memoryNodes.named("node")}"
      )
    )
  }
}

/** Names threads in a sentence of bounded length: by mask, the most common first. */
private object ThreadSummary {
  private val Masks = 3
  private val Names = 3

  /** Such as `60 on CPUs 4 (java 4711, GC Thread#0 4712, VM Thread 4713 and 57 more)`. */
  def show(threads: Vector[ThreadPlacement]): String = {
    val byMask = threads.groupBy(_.cpus).toVector.sortBy { case (mask, of) =>
      (-of.size, mask.toString)
    }
    val shown = byMask.take(Masks).map { case (mask, of) =>
      s"${of.size} on CPUs $mask (${names(of)})"
    }
    val rest = byMask.drop(Masks).map(_._2.size).sum
    (shown ++ Option.when(rest > 0)(s"$rest on others")).mkString(", ")
  }

  private def names(threads: Vector[ThreadPlacement]): String = {
    val first = threads.sortBy(_.tid).take(Names).map(t => s"${t.name} ${t.tid}").mkString(", ")
    if (threads.size > Names) s"$first and ${threads.size - Names} more" else first
  }
}
