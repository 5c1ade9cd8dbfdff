package io.hearth.core.topology

import java.nio.file.Path

/** What limits threads and processes here, for a message about one that could not be made. */
object TaskLimits {

  /** Of this process and those that it starts, the tightest first, in a sentence with what to do. */
  def here(): String = show(of(new SysTree(Path.of("/"))))

  private[topology] def show(limits: Vector[TaskLimit]): String = {
    val tightest = limits.sortBy(_.left).take(Shown)
    s"${tightest.map(sentence).mkString("; ")}; or use fewer executors, or fewer cores in each"
  }

  private val Shown = 2

  private[topology] def of(tree: SysTree): Vector[TaskLimit] =
    new AllowedReader(tree, new Warnings).taskLimits ++ ofKernel(tree)

  private def ofKernel(tree: SysTree): Vector[TaskLimit] = for {
    name <- Vector("threads-max", "pid_max")
    limit <- tree.line(s"proc/sys/kernel/$name").flatMap(_.toLongOption)
  } yield TaskLimit(s"kernel.$name", limit, None)

  private def sentence(limit: TaskLimit): String = {
    val (name, remedy) = limit.name match {
      case TaskLimit.Group =>
        ("pids.max of the control group", "raise it (systemd: TasksMax=; docker run --pids-limit)")
      case TaskLimit.User =>
        ("the user's limit of processes (ulimit -u)", "raise it (limits.conf(5))")
      case kernels => (kernels, "raise it (sysctl(8))")
    }
    s"$name is ${limit.max}${limit.current.fold("")(n => s" ($n in use now)")}: $remedy"
  }
}
