package io.hearth.core.plan

import io.hearth.core.topology.Scratch

/** Where shuffle files go: a path in memory where they fit there. */
private[plan] object ScratchChoice {

  /**
   * In memory where the input is known and twice its size (what a shuffle writes at most, and room for
   * a second one) stays within half of the memory that executors leave, and within the file system.
   */
  def of(
      constraints: UserConstraints,
      workload: Workload,
      spareMb: Long,
      scratch: Option[Scratch]
  ): Decided[Option[String]] = constraints.conf.get(Key) match {
    case Some(dir) => Decided(None, Reason(Key, dir, Reasons.FixedByUser, "user"))
    case None => byInput(workload, spareMb, scratch)
  }

  private[plan] def byInput(
      workload: Workload,
      spareMb: Long,
      scratch: Option[Scratch]
  ): Decided[Option[String]] =
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
          Decided(
            Option(tmpfs.path),
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
    Decided(Option.empty[String], Reason(Key, "left alone", because, "kernel: tmpfs"))
}
