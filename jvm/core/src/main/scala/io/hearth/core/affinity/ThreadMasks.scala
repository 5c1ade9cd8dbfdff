package io.hearth.core.affinity

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.util.Try

import io.hearth.core.procfs.{ProcFs, ProcStat}
import io.hearth.core.topology.IdSet

/**
 * CPU masks of all threads of a process and of the processes that it has started, as an executor's Python
 * workers and what they start (sched_setaffinity(2) on another's threads, which its user and root may).
 */
object ThreadMasks {

  /** The mask of each thread, by its id; none where the process is gone. */
  def of(pid: Long): Map[Int, IdSet] =
    threads(pid).flatMap(tid => LinuxScheduling.cpusOf(tid).map(tid -> _)).toMap

  /**
   * Gives each thread the mask that it is to have. A new thread inherits its maker's mask, so this goes
   * on until none is found that differs.
   *
   * @param wanted of a thread, by its id and its mask now
   * @return the threads that the kernel has left as they were, and why; empty when all is done
   */
  def change(pid: Long)(wanted: (Int, IdSet) => IdSet): Map[Int, String] = {
    @tailrec def sweep(done: Set[Int], refused: Map[Int, String]): Map[Int, String] = {
      val due = for {
        (tid, mask) <- of(pid).toVector if !done(tid)
        next = wanted(tid, mask) if next != mask
      } yield tid -> next
      if (due.isEmpty) refused
      else sweep(done ++ due.map(_._1), refused ++ due.flatMap { case (tid, to) => set(tid, to) })
    }
    sweep(Set.empty, Map.empty)
  }

  /** How long the threads of each have waited for a CPU, in ns; none of those where that is not counted. */
  def waited(pids: Vector[Long]): Map[Long, Long] = {
    val all = ProcFs.stats(Proc)
    val sums = for {
      pid <- pids
      counts = family(pid, all).flatMap(threadsOf).flatMap(waitedFor) if counts.nonEmpty
    } yield pid -> counts.sum
    sums.toMap
  }

  private def waitedFor(tid: Int): Option[Long] =
    Try(Files.readString(Proc.resolve(s"$tid/task/$tid/schedstat"), ISO_8859_1)).toOption
      .flatMap(_.split(' ').lift(1).flatMap(_.toLongOption))

  /** Absent where it is done, or the thread has ended. */
  private def set(tid: Int, cpus: IdSet): Option[(Int, String)] =
    try {
      LinuxScheduling.bindToCpus(tid, cpus)
      None
    } catch { case e: BindingRefused => Some(tid -> e.getMessage) }

  private def threads(pid: Long): Vector[Int] = family(pid).flatMap(threadsOf)

  private def threadsOf(process: Long): Vector[Int] =
    ProcFs.ids(Proc.resolve(s"$process/task")).map(_.toInt)

  /**
   * A process, those that it has started, and those that these have; a session leader's whole session,
   * for whatever has lost its parent.
   */
  private[affinity] def family(pid: Long): Vector[Long] = family(pid, ProcFs.stats(Proc))

  private def family(pid: Long, all: Map[Long, ProcStat]): Vector[Long] = {
    val first = all.collect { case (id, p) if id == pid || p.session == pid => id }.toSet
    ProcFs.descendants(all, first).toVector.sorted
  }

  private val Proc = Path.of("/proc")
}
