package io.hearth.core.placement

import io.hearth.core.launch.Binding

/** Holds what the kernel says of an executor against its plan. */
object PlacementCheck {

  /**
   * Share of anonymous memory that may lie on other nodes before it is drift. Bound before its first
   * instruction a process has none there; the allowance is for pages of the C library's loader.
   */
  val AnonymousElsewhere: Double = 0.01

  /** @return one sentence for each deviation; empty when every claim of the plan holds */
  def drift(expected: Binding, actual: ProcessPlacement): Vector[String] =
    Vector(
      cpuDrift(expected, actual),
      policyDrift(expected, actual),
      memoryDrift(expected, actual)
    ).flatten

  private def cpuDrift(expected: Binding, actual: ProcessPlacement): Option[String] =
    Option.when(actual.cpusAllowed != expected.cpus)(
      s"may run on CPUs ${actual.cpusAllowed}, planned ${expected.cpus}"
    )

  /** A cpuset that holds the planned nodes alone binds whatever the policy is, as in a container. */
  private def policyDrift(expected: Binding, actual: ProcessPlacement): Option[String] = {
    val planned = s"bind:${expected.memoryNodes}"
    val others = actual.policies.removed(planned)
    val bound = actual.memsAllowed.subsetOf(expected.memoryNodes)
    Option.when(others.nonEmpty && !bound)(
      s"has anonymous mappings under policy ${others.keys.toVector.sorted.mkString(", ")}, planned $planned"
    )
  }

  private def memoryDrift(expected: Binding, actual: ProcessPlacement): Option[String] = {
    val elsewhere = actual.anonymousBytes.collect {
      case (node, bytes) if !expected.memoryNodes.contains(node) => bytes
    }.sum
    val share = if (actual.anonymousTotal == 0) 0.0 else elsewhere.toDouble / actual.anonymousTotal
    Option.when(share > AnonymousElsewhere)(
      f"has ${share * 100}%.1f %% of its anonymous memory outside nodes ${expected.memoryNodes}"
    )
  }
}
