package io.hearth.core.placement

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, NoSuchFileException, Path}

import scala.io.Source
import scala.util.{Try, Using}

import io.hearth.core.procfs.{ProcFs, ProcStat}
import io.hearth.core.topology.{IdSet, OnlineCpus, SysTree}

/**
 * A thread as the kernel shows it.
 *
 * @param name at most 15 characters, control characters replaced by `?`
 * @param cpus `Cpus_allowed_list`
 * @param lastCpu the CPU that it last ran on
 */
final case class ThreadPlacement(tid: Int, name: String, cpus: IdSet, lastCpu: Int)

/**
 * Where the kernel says a process is. Read from `/proc/PID` (proc(5), numa_maps of
 * Documentation/admin-guide/mm/numa_memory_policy.rst); never from what was asked for.
 *
 * @param cpusOnline of the whole machine; absent where it cannot be read
 * @param memsAllowed `Mems_allowed_list`: the cpuset's nodes; a memory policy does not change it
 * @param policies mapping count of each memory policy in `numa_maps`, such as `bind:0` or `default`
 * @param anonymousBytes anonymous memory on each node, as of [[NumaMaps]]: libraries and jars stay where the
 *                       page cache has them
 */
final case class ProcessPlacement(
    pid: Long,
    threads: Vector[ThreadPlacement],
    cpusOnline: Option[IdSet],
    memsAllowed: IdSet,
    policies: Map[String, Int],
    anonymousBytes: Map[Int, Long]
) {

  /** CPUs that at least one thread may use. */
  def cpusAllowed: IdSet = IdSet.union(threads.map(_.cpus))

  /** Number of threads that last ran on each CPU. */
  def threadsOnCpu: Map[Int, Int] = threads.groupMapReduce(_.lastCpu)(_ => 1)(_ + _)

  def anonymousTotal: Long = anonymousBytes.valuesIterator.sum
}

object ProcessPlacement {

  /**
   * @param root where procfs and sysfs are: `/` on a live machine
   * @return absent when the process is gone; `Left` says what could not be read, as after a refused
   *         ptrace access check for `numa_maps`
   */
  def read(root: Path, pid: Long): Option[Either[String, ProcessPlacement]] = {
    val process = root.resolve(s"proc/$pid")
    if (!Files.isDirectory(process)) None
    else {
      val reading = Try(readExisting(root, process, pid))
      reading.toEither match {
        case Right(placement) => Some(Right(placement))
        case Left(_: NoSuchFileException) => None
        case Left(_) if !Files.isDirectory(process) => None
        case Left(e) => Some(Left(s"$process: ${e.getMessage}"))
      }
    }
  }

  private def readExisting(root: Path, process: Path, pid: Long): ProcessPlacement = {
    val status = Files.readString(process.resolve("status"), ISO_8859_1)
    val tasks = process.resolve("task")
    val threads = ProcFs.existingIds(tasks).flatMap(readThread(tasks, _))
    val mems = memsAllowed(status)
    val maps = memory(process, mems)
    ProcessPlacement(
      pid,
      threads,
      online(new SysTree(root), threads),
      mems,
      maps.policies,
      maps.anonymousBytes
    )
  }

  /** A kernel built without NUMA has no `numa_maps`: where there is one node there is nothing to look at. */
  private def memory(process: Path, mems: IdSet): NumaMaps = {
    val file = process.resolve("numa_maps")
    if (mems.size == 1 && !Files.exists(file)) NumaMaps.empty
    else Using.resource(Source.fromFile(file.toFile))(in => NumaMaps.summarise(in.getLines()))
  }

  /** With CPUs that threads may run on and that the list hides, as a container's does (lxcfs). */
  private def online(tree: SysTree, threads: Vector[ThreadPlacement]): Option[IdSet] =
    tree.list("sys/devices/system/cpu/online").filter(_.nonEmpty).map { listed =>
      listed | OnlineCpus.hidden(tree, listed, IdSet.union(threads.map(_.cpus)))
    }

  /** The memory nodes of a process's cpuset, from the text of its `status`. */
  private[placement] def memsAllowed(status: String): IdSet =
    list(status, "Mems_allowed_list")

  /** Absent when the thread has ended meanwhile. */
  private def readThread(tasks: Path, tid: Long): Option[ThreadPlacement] =
    Try {
      val task = tasks.resolve(s"$tid")
      val status = Files.readString(task.resolve("status"), ISO_8859_1)
      ThreadPlacement(
        tid.toInt,
        field(status, "Name").getOrElse("").map(c => if (c < ' ' || c > '~') '?' else c),
        list(status, "Cpus_allowed_list"),
        ProcStat.read(task).map(_.lastCpu).get
      )
    }.toOption

  private def field(status: String, name: String): Option[String] =
    status.linesIterator.find(_.startsWith(s"$name:")).map(_.drop(name.length + 1).trim)

  private def list(status: String, name: String): IdSet =
    field(status, name)
      .toRight(s"no $name")
      .flatMap(IdSet.parse)
      .fold(e => throw new IllegalStateException(e), identity)
}
