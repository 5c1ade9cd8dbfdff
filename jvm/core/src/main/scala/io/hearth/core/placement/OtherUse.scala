package io.hearth.core.placement

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json
import io.hearth.core.procfs.{ProcFs, ProcStat}
import io.hearth.core.topology.IdSet

/**
 * All processes at one moment, and the threads of those that were busy since the look before.
 *
 * @param nanos as of `System.nanoTime`
 * @param threads by process and thread id; a thread of a process that was idle is not read
 */
final case class ProcessLook(
    nanos: Long,
    at: Instant,
    processes: Map[Long, ProcStat],
    threads: Map[Long, Map[Long, ProcStat]]
)

object ProcessLook {

  /** CPUs that a process keeps busy, on average, from which it counts. */
  val Busy = 0.1

  /** @param proc the root of procfs, `/proc` on a live machine */
  def take(proc: Path, before: Option[ProcessLook], nanos: Long): ProcessLook = {
    val processes = ProcFs.stats(proc)
    val busy = before.toVector.flatMap { earlier =>
      val enough = Busy * (nanos - earlier.nanos) / 1e9 * ProcStat.TicksPerSecond
      processes.keys.filter(pid => ticks(earlier.processes, processes, pid) >= enough)
    }
    val threads = busy.map(pid => pid -> ProcFs.stats(proc.resolve(s"$pid/task")))
    ProcessLook(nanos, Instant.now(), processes, threads.toMap)
  }

  /** CPU time of one that both have; what was not there before says nothing of when it was used. */
  private[placement] def ticks(
      before: Map[Long, ProcStat],
      after: Map[Long, ProcStat],
      id: Long
  ): Long = (before.get(id), after.get(id)) match {
    case (Some(was), Some(is)) if was.startTicks == is.startTicks && !is.ofKernel =>
      is.ticks - was.ticks
    case _ => 0
  }
}

/**
 * What a process that is not the application's has used of the application's CPUs. Time counts on the CPU
 * that a thread last ran on. One that lives for less than two looks is not seen.
 *
 * @param cpus those of the application's on which it was seen
 * @param from when it was first seen there
 */
final case class OtherUse(
    pid: Long,
    startTicks: Long,
    name: String,
    user: String,
    cpus: IdSet,
    cpuSeconds: Double,
    from: Instant,
    to: Instant
) {

  /** With what was seen of the same process before. */
  def after(earlier: OtherUse): OtherUse = copy(
    cpus = earlier.cpus | cpus,
    cpuSeconds = earlier.cpuSeconds + cpuSeconds,
    from = earlier.from
  )

  def sentence: String =
    f"process $pid ($name) of $user used $cpuSeconds%.1f s of CPU time on CPUs $cpus within $elapsed%.1f s"

  def toJson: ObjectNode = Json.obj(
    "pid" -> pid,
    "start_ticks" -> startTicks,
    "name" -> name,
    "user" -> user,
    "cpus" -> cpus,
    "cpu_seconds" -> math.round(cpuSeconds * 100) / 100.0,
    "from" -> from.toString,
    "to" -> to.toString
  )

  private def elapsed: Double = (to.toEpochMilli - from.toEpochMilli) / 1e3
}

object OtherUse {

  /**
   * @param own the application's processes; all that descend from them are its own too
   * @param cpus to which its executors are bound
   * @param owner of a process that runs
   * @return those that kept at least [[ProcessLook.Busy]] of these CPUs busy, the busiest first
   */
  def between(
      before: ProcessLook,
      after: ProcessLook,
      own: Set[Long],
      cpus: IdSet,
      owner: Long => Option[String]
  ): Vector[OtherUse] = {
    val family = ProcFs.descendants(after.processes, own)
    val enough = ProcessLook.Busy * (after.nanos - before.nanos) / 1e9
    for {
      pid <- (after.threads.keySet -- family).toVector
      earlier <- before.threads.get(pid).toVector
      onOurs = after.threads(pid).filter { case (_, thread) => cpus.contains(thread.lastCpu) }
      used = onOurs.keys
        .map(tid => tid -> ProcessLook.ticks(earlier, onOurs, tid))
        .filter(_._2 > 0)
        .toMap
      seconds = used.values.sum / ProcStat.TicksPerSecond if seconds >= enough
      process = after.processes(pid)
      user <- owner(pid)
    } yield OtherUse(
      pid,
      process.startTicks,
      process.name,
      user,
      IdSet.from(used.keys.map(onOurs(_).lastCpu)),
      seconds,
      before.at,
      after.at
    )
  }.sortBy(use => (-use.cpuSeconds, use.pid))

  /** Of a process of this machine. */
  def owner(proc: Path)(pid: Long): Option[String] =
    Try(Files.getOwner(proc.resolve(s"$pid")).getName).toOption
}
