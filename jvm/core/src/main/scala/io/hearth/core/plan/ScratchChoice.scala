package io.hearth.core.plan

import io.hearth.core.topology.Scratch

/** Where shuffle files go: a path in memory where they fit there, and why or why not. */
final private[plan] case class ScratchChoice(path: Option[String], reason: Reason) {

  /** What the user set stands. */
  def unlessSet(constraints: UserConstraints): ScratchChoice = constraints.conf
    .get(reason.decision)
    .fold(this)(dir =>
      ScratchChoice(None, reason.copy(value = dir, because = Reasons.FixedByUser, source = "user"))
    )
}

private[plan] object ScratchChoice {

  /**
   * In memory where the input is known and twice its size (what a shuffle writes at most, and room for
   * a second one) stays within half of the memory that executors leave, and within the file system.
   */
  def of(workload: Workload, spareMb: Long, scratch: Option[Scratch]): ScratchChoice =
    (workload.inputBytes, scratch) match {
      case (None, _) =>
        leave("the input's size is unknown, and shuffle files in memory could exhaust it")
      case (_, None) => leave("no writable file system in memory was found")
      case (Some(bytes), Some(tmpfs)) =>
        val need = (BigInt(bytes) * 2 >> 20).min(Long.MaxValue).toLong
        if (need > spareMb / 2)
          leave(
            s"twice the input exceeds half of the ${Sizes.show(spareMb)} that executors leave free on their nodes"
          )
        else if (need > tmpfs.freeMb)
          leave(s"twice the input exceeds the ${Sizes.show(tmpfs.freeMb)} of ${tmpfs.path}")
        else
          ScratchChoice(
            Some(tmpfs.path),
            Reason(
              Key,
              tmpfs.path,
              "twice the input fits in half of the memory that executors leave free, so shuffle files stay in memory",
              "hearth; kernel: tmpfs"
            )
          )
    }

  private val Key = "spark.local.dir"

  private def leave(because: String) =
    ScratchChoice(None, Reason(Key, "left alone", because, "kernel: tmpfs"))
}
