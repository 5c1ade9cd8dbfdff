package io.hearth.core.topology

import io.hearth.core.Brief

/**
 * CPU time that the cgroups of this process may take.
 *
 * @param cpus CPUs' worth of time in each period, such as 2.5: the smallest of the group and its ancestors
 * @param throttledPeriods periods in which that group was stopped because its time was used up
 * @param throttledUsec how long it was stopped in all, in microseconds
 */
final case class CpuQuota(
    cpus: Double,
    throttledPeriods: Option[Long] = None,
    throttledUsec: Option[Long] = None
)

/**
 * How many tasks in the kernel's sense (processes and their threads) there may be.
 *
 * @param name what sets the limit: `pids.max` of a cgroup, or `RLIMIT_NPROC` of the user
 * @param current those that count against it, where the kernel tells
 */
final case class TaskLimit(name: String, max: Long, current: Option[Long]) {
  def left: Long = max - current.getOrElse(0L)
}

object TaskLimit {
  val Group = "pids.max"
  val User = "RLIMIT_NPROC"
}

/** The limits of this process's cgroups, version 1 or 2: of a group and its ancestors the tightest holds. */
final private[topology] class CgroupLimits(tree: SysTree, cgroups: Cgroups) {
  import CgroupLimits._

  def memoryBytes: Option[Long] = {
    val limits = for {
      group <- cgroups.of("memory").toVector
      directory <- group.directories
      file <- memoryFiles(group)
      limit <- number(s"$directory/$file", "a memory limit in bytes")
      if limit < Unlimited
    } yield limit.toLong
    limits.minOption
  }

  /** Kernel: Documentation/scheduler/sched-bwc.rst, Documentation/admin-guide/cgroup-v2.rst. */
  def cpuQuota: Option[CpuQuota] = {
    val quotas = for {
      group <- cgroups.of("cpu").toVector
      directory <- group.directories
      cpus <- if (group.unified) quota2(directory) else quota1(directory)
    } yield throttled(group, directory, cpus)
    quotas.minByOption(_.cpus)
  }

  def tasks: Option[TaskLimit] = {
    val limits = for {
      group <- cgroups.of("pids").toVector
      directory <- group.directories
      max <- number(s"$directory/pids.max", "a number of tasks")
      if max < Unlimited
      current = tree.line(s"$directory/pids.current").flatMap(_.toLongOption).filter(_ >= 0)
    } yield TaskLimit(TaskLimit.Group, max.toLong, current)
    limits.minByOption(_.left)
  }

  private def quota2(directory: String): Option[Double] = {
    val file = s"$directory/cpu.max"
    tree.line(file).map(_.split(' ').toVector).flatMap {
      case "max" +: _ => None
      case Vector(quota, period) => tree.orWarn(file, ratio(quota, period))
      case other => tree.orWarn(file, Left(s"'${Brief(other.mkString(" "))}' is not a CPU quota"))
    }
  }

  private def quota1(directory: String): Option[Double] = for {
    quota <- tree.line(s"$directory/cpu.cfs_quota_us")
    if quota != "-1"
    period <- tree.line(s"$directory/cpu.cfs_period_us")
    cpus <- tree.orWarn(s"$directory/cpu.cfs_quota_us", ratio(quota, period))
  } yield cpus

  private def ratio(quota: String, period: String): Either[String, Double] = {
    def positive(text: String) = text.toLongOption.filter(_ > 0)
    positive(quota)
      .zip(positive(period))
      .map { case (time, of) => math.max(1L, math.round(time * 1000.0 / of)) / 1000.0 }
      .filter(_ <= IdSet.MaxId + 1)
      .toRight(s"'${Brief(s"$quota $period")}' is not a CPU quota and its period")
  }

  private def throttled(group: Cgroup, directory: String, cpus: Double): CpuQuota = {
    val fields = tree.text(s"$directory/cpu.stat").fold(Map.empty[String, Long]) { text =>
      text.linesIterator
        .map(_.split(' '))
        .flatMap {
          case Array(name, value) => value.toLongOption.filter(_ >= 0).map(name -> _)
          case _ => None
        }
        .toMap
    }
    val usec =
      if (group.unified) fields.get("throttled_usec")
      else fields.get("throttled_time").map(_ / 1000)
    CpuQuota(cpus, fields.get("nr_throttled"), usec)
  }

  /** A limit above zero; `max` is none. */
  private def number(file: String, what: String): Option[BigInt] = for {
    text <- tree.line(file)
    if text != "max"
    limit <- tree.orWarn(file, positive(text).toRight(s"'${Brief(text)}' is not $what"))
  } yield limit
}

private[topology] object CgroupLimits {

  /** Version 1 writes the largest multiple of the page size that fits 63 bits for "no limit". */
  private val Unlimited = BigInt(1L << 60)

  /** Twenty digits hold 2^64, which old kernels write for "no limit". */
  private def positive(text: String): Option[BigInt] =
    Option.when(text.matches("[0-9]{1,20}"))(BigInt(text)).filter(_ > 0)

  /** Above `memory.high` the kernel lets a group's threads wait, so that a JVM hardly moves. */
  private def memoryFiles(group: Cgroup): Vector[String] =
    if (group.unified) Vector("memory.max", "memory.high") else Vector("memory.limit_in_bytes")

  /** The files of a group that are read, by controller. */
  def files(controller: String, group: Cgroup): Vector[String] = controller match {
    case "memory" => memoryFiles(group)
    case "cpu" if group.unified => Vector("cpu.max", "cpu.stat")
    case "cpu" => Vector("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat")
    case "pids" => Vector("pids.max", "pids.current")
    case _ => Vector("cpus", "mems").flatMap(AllowedReader.cpusetFiles(group, _))
  }
}
