package io.hearth.core.affinity

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

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
    val all = processes()
    val sums = for {
      pid <- pids
      counts = family(pid, all).flatMap(threadsOf).flatMap(waitedFor) if counts.nonEmpty
    } yield pid -> counts.sum
    sums.toMap
  }

  private def waitedFor(tid: Int): Option[Long] =
    Try(Files.readString(Path.of(s"/proc/$tid/task/$tid/schedstat"), ISO_8859_1)).toOption
      .flatMap(_.split(' ').lift(1).flatMap(_.toLongOption))

  /** Absent where it is done, or the thread has ended. */
  private def set(tid: Int, cpus: IdSet): Option[(Int, String)] =
    try {
      LinuxScheduling.bindToCpus(tid, cpus)
      None
    } catch { case e: BindingRefused => Some(tid -> e.getMessage) }

  private def threads(pid: Long): Vector[Int] = family(pid).flatMap(threadsOf)

  private def threadsOf(process: Long): Vector[Int] =
    Try(
      Using.resource(Files.list(Path.of(s"/proc/$process/task")))(
        _.iterator.asScala.flatMap(_.getFileName.toString.toIntOption).toVector
      )
    ).getOrElse(Vector.empty)

  /**
   * A process, those that it has started, and those that these have; a session leader's whole session,
   * for whatever has lost its parent.
   */
  private[affinity] def family(pid: Long): Vector[Long] = family(pid, processes())

  private def family(pid: Long, all: Vector[Kin]): Vector[Long] = {
    val children = all.groupMap(_.parent)(_.pid)
    @tailrec def below(known: Set[Long], fresh: Set[Long]): Set[Long] =
      if (fresh.isEmpty) known
      else {
        val next = fresh.flatMap(children.getOrElse(_, Vector.empty)) -- known
        below(known ++ next, next)
      }
    val first = all.filter(p => p.pid == pid || p.session == pid).map(_.pid).toSet
    below(first, first).toVector.sorted
  }

  private def processes(): Vector[Kin] = Using
    .resource(Files.list(Path.of("/proc")))(_.iterator.asScala.toVector)
    .flatMap(_.getFileName.toString.toLongOption)
    .flatMap(kin)

  final private case class Kin(pid: Long, parent: Long, session: Long)

  /** Fields 4 and 6 of stat (proc(5)), counted from the end of the name, which may hold anything. */
  private def kin(pid: Long): Option[Kin] =
    Try(Files.readString(Path.of(s"/proc/$pid/stat"), ISO_8859_1)).toOption
      .map(stat => stat.substring(stat.lastIndexOf(')') + 2).split(' '))
      .map(fields => Kin(pid, fields(1).toLong, fields(3).toLong))
}
