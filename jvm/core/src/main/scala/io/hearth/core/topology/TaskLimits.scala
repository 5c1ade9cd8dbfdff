package io.hearth.core.topology

import java.nio.file.Path

/**
 * A limit on how many threads and processes there may be. The kernel counts both as tasks.
 *
 * @param used how many there are now; absent where that is not counted
 * @param remedy how it is raised
 */
final case class TaskLimit(name: String, value: Long, used: Option[Long], remedy: String) {
  override def toString: String =
    s"$name is $value${used.fold("")(n => s" ($n in use now)")}: $remedy"
}

object TaskLimits {

  /** Of this process and those that it starts, the tightest first, in a sentence with what to do. */
  def here(): String = show(of(new SysTree(Path.of("/"))))

  private[topology] def show(limits: Vector[TaskLimit]): String = {
    val tightest = limits.sortBy(limit => limit.value - limit.used.getOrElse(0L)).take(Shown)
    s"${tightest.mkString("; ")}; or use fewer executors, or fewer cores in each"
  }

  private val Shown = 2

  private[topology] def of(tree: SysTree): Vector[TaskLimit] =
    ofCgroups(tree) ++ ofUser(tree) ++ ofKernel(tree)

  /** Documentation/admin-guide/cgroup-v2.rst, "PID". */
  private def ofCgroups(tree: SysTree): Vector[TaskLimit] = for {
    directory <- new Cgroups(tree).of("pids").toVector.flatMap(_.directories)
    limit <- number(tree, s"$directory/pids.max")
  } yield TaskLimit(
    s"pids.max of the control group $directory",
    limit,
    number(tree, s"$directory/pids.current"),
    "raise it (systemd: TasksMax=; docker run --pids-limit)"
  )

  /** RLIMIT_NPROC of getrlimit(2), which does not bind root. */
  private def ofUser(tree: SysTree): Option[TaskLimit] = for {
    limits <- tree.text("proc/self/limits")
    line <- limits.linesIterator.find(_.startsWith(MaxProcesses))
    limit <- line.drop(MaxProcesses.length).trim.takeWhile(_ != ' ').toLongOption
    if !tree.text("proc/self/status").exists(_.contains("\nUid:\t0\t"))
  } yield TaskLimit(
    "the user's limit of processes (ulimit -u)",
    limit,
    None,
    "raise it (limits.conf(5))"
  )

  private def ofKernel(tree: SysTree): Vector[TaskLimit] = for {
    name <- Vector("threads-max", "pid_max")
    limit <- number(tree, s"proc/sys/kernel/$name")
  } yield TaskLimit(s"kernel.$name", limit, None, "raise it (sysctl(8))")

  private val MaxProcesses = "Max processes"

  private def number(tree: SysTree, path: String) = tree.line(path).flatMap(_.toLongOption)
}
