package io.hearth.core.communication

import java.nio.file.Path

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.affinity.{Refused, ThreadNames}
import io.hearth.core.{Terminal, UserError}
import io.hearth.core.json.Json
import io.hearth.core.placement.{ProcessPlacement, ThreadPlacement}
import io.hearth.core.topology.Topology

/**
 * @param software whose thread it is: `spark`, `hadoop`, `hdfs`, or `named` by the user
 * @param nodeMoves how often it was seen on another NUMA node than at the look before
 */
final case class CommunicationThread(thread: ThreadPlacement, software: String, nodeMoves: Int)

/**
 * The communication threads of a process, from `/proc` alone.
 *
 * @param others threads that are none
 * @param seconds how long they were watched, and `looks` how often they were looked at
 */
final case class CommunicationThreads(
    pid: Long,
    threads: Vector[CommunicationThread],
    others: Int,
    seconds: Double,
    looks: Int
) {

  /** The document of `contract/affinity-threads.schema.json`. */
  def write(topology: Topology): ObjectNode = Json.obj(
    "schema" -> "hearth/affinity-threads/1",
    "pid" -> pid,
    "seconds" -> seconds,
    "looks" -> looks,
    "other_threads" -> others,
    "threads" -> threads.map { t =>
      Json.obj(
        "tid" -> t.thread.tid,
        "name" -> Terminal.escaped(t.thread.name),
        "software" -> t.software,
        "cpus" -> t.thread.cpus,
        "last_cpu" -> t.thread.lastCpu,
        "node" -> topology.nodeOf(t.thread.lastCpu).map(_.id),
        "node_moves_per_s" -> t.nodeMoves / seconds
      )
    }
  )
}

object CommunicationThreads {

  /** Looks for a second: a move and the way back between two looks are not seen. */
  private val LooksPerSecond = 20

  /** Which threads: words as the agent takes them; all that are known where there is none. */
  def names(words: Vector[String]): ThreadNames =
    try if (words.isEmpty) ThreadNames.all else ThreadNames.of(words.asJava)
    catch { case e: Refused => throw new UserError(e.getMessage, Some(e)) }

  /**
   * Watches a process for some seconds.
   *
   * @throws UserError where there is no such process
   */
  def watch(
      proc: Path,
      pid: Long,
      names: ThreadNames,
      seconds: Double,
      topology: Topology
  ): CommunicationThreads = {
    val first = look(proc, pid, names)
    val began = System.nanoTime
    val looks = math.max(1, (seconds * LooksPerSecond).toInt)
    val (last, moves) = (1 to looks).foldLeft((first, Map.empty[Int, Int])) {
      case ((before, moves), number) =>
        val due = began + (number * 1e9 / LooksPerSecond).toLong
        Thread.sleep(math.max(0L, (due - System.nanoTime) / 1000000))
        val now = look(proc, pid, names)
        (
          now,
          moved(before._1, now._1, topology).foldLeft(moves)((m, tid) =>
            m + (tid -> (m.getOrElse(tid, 0) + 1))
          )
        )
    }
    val took = (System.nanoTime - began) / 1e9
    CommunicationThreads(
      pid,
      last._1.map(t => t.copy(nodeMoves = moves.getOrElse(t.thread.tid, 0))),
      last._2,
      math.round(took * 100) / 100.0,
      looks
    )
  }

  private def moved(
      before: Vector[CommunicationThread],
      now: Vector[CommunicationThread],
      topology: Topology
  ): Vector[Int] = {
    def node(cpu: Int) = topology.nodeOf(cpu).map(_.id)
    val was = before.map(t => t.thread.tid -> t.thread.lastCpu).toMap
    now.collect {
      case t if was.get(t.thread.tid).exists(cpu => node(cpu) != node(t.thread.lastCpu)) =>
        t.thread.tid
    }
  }

  private def look(
      proc: Path,
      pid: Long,
      names: ThreadNames
  ): (Vector[CommunicationThread], Int) = {
    val all = ProcessPlacement.threads(proc, pid)
    if (all.isEmpty)
      throw new UserError(
        s"process $pid is not running: give the id of a process of this machine (jps lists JVMs)"
      )
    val found = all.flatMap(t => names.software(t.name).toScala.map(CommunicationThread(t, _, 0)))
    (found.sortBy(_.thread.tid), all.size - found.size)
  }
}
