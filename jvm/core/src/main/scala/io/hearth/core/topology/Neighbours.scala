package io.hearth.core.topology

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.hearth.core.procfs.ProcFs

/**
 * A bound executor of an application, as the kernel shows it to every user.
 *
 * @param appId what its command line says; any user could write anything there
 * @param user whose process it is
 * @param cpus those that it may run on
 */
final case class Neighbour(pid: Long, appId: String, user: String, cpus: IdSet)

/**
 * What else runs on this machine: the bound executors, and what all processes leave.
 *
 * @param hidden why there may be other executors; absent where every process is visible
 * @param availableMb memory that a new process can have now (MemAvailable), where known
 * @param availableOn the same in bytes by NUMA node, where the kernel has nodes
 */
final case class Neighbours(
    executors: Vector[Neighbour],
    hidden: Option[String],
    availableMb: Option[Long] = None,
    availableOn: Map[Int, Long] = Map.empty
) {
  def cpus: IdSet = IdSet.union(executors.iterator.map(_.cpus))

  /** The applications with the CPUs of each, the widest first; a few, and how many more there are. */
  def who: String = {
    val applications = executors
      .groupBy(e => (e.appId, e.user))
      .toVector
      .map { case ((app, user), own) => (app, user, own, IdSet.union(own.iterator.map(_.cpus))) }
      .sortBy { case (app, user, _, cpus) => (-cpus.size, app, user) }
    val named = applications.take(Neighbours.Named).map { case (app, user, own, cpus) =>
      s"$app of $user (process ${own.map(_.pid).min}) on CPUs $cpus"
    }
    val more = applications.size - named.size
    (named ++ Option.when(more > 0)(s"$more more applications")).mkString(", ")
  }
}

/** Reads `/proc/PID/cmdline` and `/proc/PID/status` (proc(5)), which need no privilege. */
object Neighbours {
  val none: Neighbours = Neighbours(Vector.empty, None)

  private val Named = 3
  private val Mark = "-Dhearth.bound="

  /** The program and its first option stand at the start; what follows them is not read. */
  private val ReadBytes = 4096

  /** The first JVM option of a bound executor, which identifies it to others. */
  def mark(appId: String): String = Mark + appId

  /** @param proc the root of procfs, `/proc` on a live machine */
  def running(proc: Path): Neighbours = {
    val executors =
      ProcFs.existingIds(proc).flatMap(pid => executor(proc.resolve(s"$pid"), pid))
    Neighbours(executors.sortBy(_.pid), hiddenIn(proc), availableIn(proc), availableOn(proc))
  }

  /** What is free of each node, and what is cached of files there; the kernel has no MemAvailable for nodes. */
  private def availableOn(proc: Path): Map[Int, Long] = {
    val nodes = proc.resolveSibling("sys/devices/system/node")
    (for {
      id <- nodeIds(nodes)
      text <- Try(Files.readString(nodes.resolve(s"node$id/meminfo"))).toOption
      fields = text.linesIterator.collect { case s"Node $_ $name:$value kB" =>
        name -> value.trim.toLongOption.getOrElse(0L)
      }.toMap
      free <- fields.get("MemFree")
    } yield {
      def kilobytes(name: String) = fields.getOrElse(name, 0L)
      val files = math.max(0L, kilobytes("FilePages") - kilobytes("Shmem"))
      id -> (free + files + kilobytes("SReclaimable")) * 1024
    }).toMap
  }

  private def nodeIds(nodes: Path): Vector[Int] = Try(
    Using.resource(Files.list(nodes))(
      _.iterator.asScala
        .map(_.getFileName.toString)
        .collect { case s"node$id" => id.toIntOption }
        .flatten
        .toVector
    )
  ).getOrElse(Vector.empty)

  private def availableIn(proc: Path): Option[Long] =
    for {
      text <- Try(Files.readString(proc.resolve("meminfo"))).toOption
      value <- text.linesIterator.collectFirst { case s"MemAvailable:$value kB" => value.trim }
      kilobytes <- value.toLongOption
    } yield kilobytes >> 10

  /** Absent for any other process, and for one that ends meanwhile or cannot be read. */
  private def executor(dir: Path, pid: Long): Option[Neighbour] =
    for {
      words <- Try(start(dir.resolve("cmdline"))).toOption
      if words.sizeIs > 1 && words(0).split('/').lastOption.contains("java")
      if words(1).startsWith(Mark)
      status <- Try(Files.readString(dir.resolve("status"))).toOption
      list <- status.linesIterator.collectFirst { case s"Cpus_allowed_list:$list" => list }
      cpus <- IdSet.parse(list.trim).toOption
      user <- Try(Files.getOwner(dir).getName).toOption
    } yield Neighbour(pid, printable(words(1).drop(Mark.length)), user, cpus)

  private def start(file: Path): Vector[String] = {
    val bytes = Using.resource(Files.newInputStream(file))(_.readNBytes(ReadBytes))
    new String(bytes, UTF_8).split('\u0000').toVector
  }

  /** An application's id as Spark makes one, nothing that a terminal would act on. */
  private def printable(appId: String): String = {
    val plain = appId.take(60).map(c => if (c < 127 && c > ' ') c else '?')
    if (plain.isEmpty) "?" else plain
  }

  /** Process 1 is root's: whoever sees it sees every user's (proc(5), `hidepid`). */
  private def hiddenIn(proc: Path): Option[String] =
    Option.when(Try(start(proc.resolve("1").resolve("cmdline"))).isFailure)(
      "processes of other users are hidden here (process 1 cannot be read in /proc, which is mounted " +
        "with hidepid), so their executors may run on the same CPUs"
    )
}
