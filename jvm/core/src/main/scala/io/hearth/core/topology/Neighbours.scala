package io.hearth.core.topology

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

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
      .map { case ((app, user), executors) =>
        (app, user, executors, IdSet.union(executors.iterator.map(_.cpus)))
      }
      .sortBy { case (app, user, _, cpus) => (-cpus.size, app, user) }
    val named = applications.take(Neighbours.Named).map { case (app, user, executors, cpus) =>
      s"$app of $user (process ${executors.map(_.pid).min}) on CPUs $cpus"
    }
    val more = applications.size - named.size
    (named ++ Option.when(more > 0)(s"$more more applications")).mkString(", ")
  }
}

/** Reads `/proc/PID/cmdline` and `/proc/PID/status` (proc(5)), which need no privilege. */
object Neighbours {
  val none: Neighbours = Neighbours(Vector.empty, None)

  private val Nodes = "sys/devices/system/node"
  private val Named = 3
  private val Mark = "-Dhearth.bound="

  /** The program and its first option stand at the start; what follows them is not read. */
  private val ReadBytes = 4096

  /** The first JVM option of a bound executor, which identifies it to others. */
  def mark(appId: String): String = Mark + appId

  /** @param root where procfs and sysfs are: `/` on a live machine */
  def running(root: Path): Neighbours = {
    val proc = root.resolve("proc")
    val tree = new SysTree(root)
    val executors =
      ProcFs.existingIds(proc).flatMap(pid => executor(proc.resolve(s"$pid"), pid))
    val availableMb = memory(tree, "proc/meminfo").get("MemAvailable").map(_ >> 20)
    Neighbours(executors.sortBy(_.pid), hiddenIn(proc), availableMb, availableOn(tree))
  }

  /** What is free of each node, and what is cached of files there; the kernel has no MemAvailable for nodes. */
  private def availableOn(tree: SysTree): Map[Int, Long] = (for {
    id <- tree.ids(Nodes, "node").iterator
    bytes = memory(tree, s"$Nodes/node$id/meminfo").withDefaultValue(0L)
    if bytes.contains("MemFree")
    files = math.max(0L, bytes("FilePages") - bytes("Shmem"))
  } yield id -> (bytes("MemFree") + files + bytes("SReclaimable"))).toMap

  /** The lines of a `meminfo`, in bytes. */
  private def memory(tree: SysTree, path: String): Map[String, Long] =
    tree.text(path).fold(Map.empty[String, Long]) {
      _.linesIterator
        .collect { case s"$name:$value kB" =>
          name.split(' ').last -> value.trim.toLongOption.fold(0L)(_ << 10)
        }
        .toMap
    }

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
