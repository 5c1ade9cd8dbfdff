package io.hearth.core.procfs

import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

/** Walks `/proc` (proc(5)). */
object ProcFs {

  /** Processes of a procfs, or the threads of a process's `task`; none where the process is gone. */
  def ids(directory: Path): Vector[Long] = Try(existingIds(directory)).getOrElse(Vector.empty)

  /** @throws java.io.IOException where there is no such directory */
  def existingIds(directory: Path): Vector[Long] =
    Using.resource(Files.list(directory))(
      _.iterator.asScala.flatMap(_.getFileName.toString.toLongOption).toVector
    )

  /** What each process of a procfs says of itself. */
  def stats(proc: Path): Map[Long, ProcStat] =
    ids(proc).flatMap(id => ProcStat.read(proc.resolve(s"$id")).map(id -> _)).toMap

  /** These processes, those that they have started, those that these have, and so on. */
  def descendants(processes: Map[Long, ProcStat], of: Set[Long]): Set[Long] = {
    val children = processes.groupMap(_._2.parent)(_._1)
    @tailrec def below(known: Set[Long], next: Set[Long]): Set[Long] =
      if (next.isEmpty) known
      else below(known ++ next, next.flatMap(children.getOrElse(_, Nil)) -- known -- next)
    below(Set.empty, of)
  }
}
