package io.hearth.core.affinity

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.util.Try

import io.hearth.core.procfs.ProcFs
import io.hearth.core.topology.IdSet

/**
 * CPU masks of all threads of a process and of the processes that it has started, as an executor's Python
 * workers and what they start (sched_setaffinity(2) on another's threads, which its user and root may).
 */
object ThreadMasks {

  /** The mask of each thread, by its id; none where the process is gone. */
  def of(pid: Long): Map[Int, IdSet] = masks(family(pid))

  /**
   * Gives each thread the mask that it is to have. A new thread inherits its maker's mask, so this goes
   * on until none is found that differs.
   *
   * @param wanted of a thread, by its id and its mask now
   * @return the threads that the kernel has left as they were, and why; empty when all is done
   */
  def change(pid: Long)(wanted: (Int, IdSet) => IdSet): Map[Int, String] =
    change(pid, family(pid), wanted)

  /**
   * The same soon afterwards, for threads that have appeared since: cheaper than [[change]].
   *
   * @param known its processes, as far as they are known
   * @return its processes now
   */
  def settle(pid: Long, known: Set[Long])(wanted: (Int, IdSet) => IdSet): Set[Long] = {
    val now = ProcessFamily.grown(pid, known, Proc)
    change(pid, now, wanted)
    now
  }

  private def change(
      pid: Long,
      first: Set[Long],
      wanted: (Int, IdSet) => IdSet
  ): Map[Int, String] = {
    @tailrec def sweep(
        family: Set[Long],
        done: Set[Int],
        refused: Map[Int, String]
    ): Map[Int, String] = {
      val due = for {
        (tid, mask) <- masks(family).toVector if !done(tid)
        next = wanted(tid, mask) if next != mask
      } yield tid -> next
      if (due.isEmpty) refused
      else
        sweep(
          ProcessFamily.grown(pid, family, Proc),
          done ++ due.map(_._1),
          refused ++ due.flatMap { case (tid, to) => set(tid, to) }
        )
    }
    sweep(first, Set.empty, Map.empty)
  }

  private def masks(family: Set[Long]): Map[Int, IdSet] = family.iterator
    .flatMap(threadsOf)
    .flatMap(tid => LinuxScheduling.cpusOf(tid).map(tid -> _))
    .toMap

  /** How long the threads of each have waited for a CPU, in ns; none of those where that is not counted. */
  def waited(pids: Vector[Long]): Map[Long, Long] = {
    val all = ProcFs.stats(Proc)
    val sums = for {
      pid <- pids
      counts = ProcessFamily.of(pid, all).toVector.flatMap(threadsOf).flatMap(waitedFor)
      if counts.nonEmpty
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

  private def threadsOf(process: Long): Vector[Int] =
    ProcFs.ids(Proc.resolve(s"$process/task")).map(_.toInt)

  /** With a look at all processes of the machine. */
  def family(pid: Long): Set[Long] = ProcessFamily.of(pid, ProcFs.stats(Proc))

  private val Proc = Path.of("/proc")
}
