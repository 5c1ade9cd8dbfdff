package io.hearth.core.placement

import java.nio.file.{Files, NoSuchFileException, Path}

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.hearth.core.topology.IdSet

/**
 * Where the kernel says a process is. Read from `/proc/PID` (proc(5), numa_maps of
 * Documentation/admin-guide/mm/numa_memory_policy.rst); never from what was asked for.
 *
 * @param cpusAllowed union over all threads of `Cpus_allowed_list`
 * @param memsAllowed `Mems_allowed_list`: the cpuset's nodes; a memory policy does not change it
 * @param policies mapping count of each memory policy in `numa_maps`, such as `bind:0` or `default`
 * @param anonymousBytes anonymous memory on each node, mappings of files left out: libraries and jars stay
 *                       where the page cache has them
 * @param threadsOnCpu number of threads that last ran on each CPU
 */
final case class ProcessPlacement(
    pid: Long,
    cpusAllowed: IdSet,
    memsAllowed: IdSet,
    policies: Map[String, Int],
    anonymousBytes: Map[Int, Long],
    threadsOnCpu: Map[Int, Int]
) {

  def anonymousTotal: Long = anonymousBytes.valuesIterator.sum
}

object ProcessPlacement {

  /**
   * @param proc the root of procfs, `/proc` on a live machine
   * @return absent when the process is gone; `Left` says what could not be read, as after a refused
   *         ptrace access check for `numa_maps`
   */
  def read(proc: Path, pid: Long): Option[Either[String, ProcessPlacement]] = {
    val process = proc.resolve(pid.toString)
    if (!Files.isDirectory(process)) None
    else {
      val reading = Try(readExisting(process, pid))
      reading.toEither match {
        case Right(placement) => Some(Right(placement))
        case Left(_: NoSuchFileException) => None
        case Left(_) if !Files.isDirectory(process) => None
        case Left(e) => Some(Left(s"$process: ${e.getMessage}"))
      }
    }
  }

  private def readExisting(process: Path, pid: Long): ProcessPlacement = {
    val status = fields(Files.readString(process.resolve("status")))
    val threads = threadDirectories(process).flatMap(readThread)
    val maps = Using.resource(Source.fromFile(process.resolve("numa_maps").toFile))(in =>
      NumaMaps.summarise(in.getLines())
    )
    ProcessPlacement(
      pid,
      IdSet.union(threads.map(_._1)),
      list(status, "Mems_allowed_list"),
      maps.policies,
      maps.anonymousBytes,
      threads.groupMapReduce(_._2)(_ => 1)(_ + _)
    )
  }

  private def threadDirectories(process: Path): Vector[Path] =
    Using.resource(Files.list(process.resolve("task")))(_.iterator.asScala.toVector)

  /** CPUs allowed and the CPU last run on; absent when the thread has ended meanwhile. */
  private def readThread(task: Path): Option[(IdSet, Int)] =
    Try {
      val status = fields(Files.readString(task.resolve("status")))
      (list(status, "Cpus_allowed_list"), lastCpu(Files.readString(task.resolve("stat"))))
    }.toOption

  /** Field 39 of stat, counted from behind the command name, which may hold blanks and brackets. */
  private def lastCpu(stat: String): Int =
    stat.substring(stat.lastIndexOf(')') + 2).split(' ')(39 - 3).toInt

  private def fields(status: String): Map[String, String] =
    status.linesIterator
      .map(_.split(":", 2))
      .collect { case Array(name, value) => name -> value.trim }
      .toMap

  private def list(status: Map[String, String], name: String): IdSet =
    status
      .get(name)
      .toRight(s"no $name")
      .flatMap(IdSet.parse)
      .fold(e => throw new IllegalStateException(e), identity)
}
