package io.hearth.core.affinity

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.util.Try

import io.hearth.core.procfs.{ProcFs, ProcStat}

/**
 * A process, those that it has started, and those that these have; a session leader's whole session, for whatever
 * has lost its parent.
 */
private[affinity] object ProcessFamily {

  def of(pid: Long, all: Map[Long, ProcStat]): Set[Long] = {
    val first = all.collect { case (id, p) if id == pid || p.session == pid => id }.toSet
    ProcFs.descendants(all, first)
  }

  /**
   * Those known that live, and what they have started since: without a look at all processes of the machine, where the
   * kernel lists children (CONFIG_PROC_CHILDREN).
   */
  def grown(pid: Long, known: Set[Long], proc: Path): Set[Long] =
    if (!Files.exists(proc.resolve(s"$pid/task/$pid/children"))) of(pid, ProcFs.stats(proc))
    else {
      def inSession(id: Long) = ProcStat.read(proc.resolve(s"$id")).exists(_.session == pid)
      @tailrec def below(known: Set[Long], next: Set[Long]): Set[Long] =
        if (next.isEmpty) known
        else below(known ++ next, next.flatMap(children(_, proc)) -- known -- next)
      below(Set.empty, known.filter(inSession) + pid)
    }

  private def children(process: Long, proc: Path): Vector[Long] = {
    val tasks = proc.resolve(s"$process/task")
    ProcFs.ids(tasks).flatMap { thread =>
      val listed = Try(Files.readString(tasks.resolve(s"$thread/children"), ISO_8859_1)).toOption
      listed.toVector.flatMap(_.split(' ')).flatMap(_.toLongOption)
    }
  }
}
