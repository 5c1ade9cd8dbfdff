package io.hearth.core.topology

import java.nio.file.{Files, Path}

import io.hearth.core.testing.Temporary

/**
 * A machine as files of sysfs and procfs, to be changed as a test needs it and then written to a
 * temporary directory.
 */
final case class Fixture(files: Map[String, String]) {
  import Fixture._

  def set(path: String, text: String): Fixture = Fixture(files + (path -> s"$text\n"))

  /** Removes a file, or all files of a directory. */
  def without(path: String): Fixture =
    Fixture(files.filterNot { case (name, _) => name == path || name.startsWith(s"$path/") })

  def without(paths: Iterable[String]): Fixture = paths.foldLeft(this)(_.without(_))

  /** Takes CPUs offline as Linux does: their directories stay, without a topology. */
  def offline(cpus: IdSet): Fixture = {
    val online = IdSet.parse(files(s"$Cpu/online").trim).fold(fail, identity) &~ cpus
    val gone = cpus.toVector.flatMap(c => Vector(s"$Cpu/cpu$c/topology", s"$Cpu/cpu$c/cache"))
    val rest = without(gone).set(s"$Cpu/online", online.toString)
    val marked = cpus.iterator.foldLeft(rest)((f, c) => f.set(s"$Cpu/cpu$c/online", "0"))
    Fixture(marked.files.map {
      case (path, text) if isSet(path) => path -> trimmedTo(online, path, text)
      case other => other
    })
  }

  def cgroup2(path: String, sets: (String, String)*): Fixture = {
    val base = set("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0")
      .set("proc/self/cgroup", s"0::$path")
      .set("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids")
    sets.foldLeft(base) { case (f, (file, text)) => f.set(s"sys/fs/cgroup$file", text) }
  }

  /** Writes the files, runs `use` with their root, and removes them. */
  def in[A](use: Path => A): A = Temporary.directory { root =>
    files.foreach { case (path, text) =>
      val file = root.resolve(path)
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
    use(root)
  }

  /** Read from memory; that directories read the same is a test of HwlocOracleTest. */
  def read(): Topology = TopologyReader.read(tree, "fixture")

  private[topology] def tree: TreeFiles = {
    val builder = new MemoryFiles.Builder
    files.foreach { case (path, text) => builder.file(path, text.getBytes("ISO-8859-1")) }
    builder.result
  }

  private def isSet(path: String): Boolean =
    path.startsWith(s"$Cpu/cpu") && (path.endsWith("_list") || path.endsWith("_cpus")) ||
      path.startsWith(s"$Node/node") && (path.endsWith("cpumap") || path.endsWith("cpulist"))

  private def trimmedTo(online: IdSet, path: String, text: String): String =
    if (path.endsWith("list"))
      s"${IdSet.parse(text).fold(fail, _ & online)}\n"
    else s"${mask(IdSet.parseMask(text).fold(fail, _ & online))}\n"

  private def fail(problem: String) = throw new IllegalArgumentException(problem)
}

object Fixture {
  val Cpu = "sys/devices/system/cpu"
  val Node = "sys/devices/system/node"

  /** @param cpus its hardware threads */
  final case class CoreShape(packageId: Int, coreId: Int, cpus: IdSet)

  /** @param kilobytes total memory */
  final case class NodeShape(id: Int, cpus: IdSet, kilobytes: Long)

  /** The kernel's mask of a set: groups of 32 bits, the highest first. */
  def mask(ids: IdSet): String = {
    val groups = if (ids.isEmpty) 1 else ids.last / 32 + 1
    Vector
      .range(0, groups)
      .reverse
      .map { group =>
        val bits = (0 until 32).filter(bit => ids.contains(group * 32 + bit)).map(1L << _).sum
        f"$bits%08x"
      }
      .mkString(",")
  }

  /** A machine with the files that today's kernels have; 10 to itself and 20 to other nodes. */
  def apply(cores: Vector[CoreShape], nodes: Vector[NodeShape]): Fixture = {
    val all = IdSet.union(cores.map(_.cpus))
    val packages = cores.groupBy(_.packageId).map { case (id, own) =>
      id -> IdSet.union(own.map(_.cpus))
    }
    val ofCpus =
      for (core <- cores; cpu <- core.cpus.iterator; file <- cpuFiles(core, packages, cpu))
        yield file
    val ofNodes = nodes.flatMap(nodeFiles(_, nodes.map(_.id)))
    val lists = Vector(
      s"$Cpu/online" -> all.toString,
      s"$Cpu/possible" -> s"0-${all.last}",
      s"$Node/online" -> IdSet.from(nodes.map(_.id)).toString,
      s"$Node/possible" -> s"0-${nodes.last.id}",
      "proc/meminfo" -> s"MemTotal: ${nodes.map(_.kilobytes).sum} kB"
    )
    Fixture((lists ++ ofCpus ++ ofNodes).map { case (path, text) => path -> s"$text\n" }.toMap)
  }

  private def cpuFiles(core: CoreShape, packages: Map[Int, IdSet], cpu: Int) = {
    val at = s"$Cpu/cpu$cpu/topology"
    val sets = Vector("core_cpus" -> core.cpus, "thread_siblings" -> core.cpus) ++
      Vector("package_cpus", "core_siblings").map(_ -> packages(core.packageId))
    Vector(
      s"$at/physical_package_id" -> core.packageId.toString,
      s"$at/core_id" -> core.coreId.toString
    ) ++ sets.flatMap { case (name, cpus) =>
      Vector(s"$at/$name" -> mask(cpus), s"$at/${name}_list" -> cpus.toString)
    }
  }

  private def nodeFiles(node: NodeShape, ids: Vector[Int]) = {
    val at = s"$Node/node${node.id}"
    Vector(
      s"$at/cpumap" -> mask(node.cpus),
      s"$at/cpulist" -> node.cpus.toString,
      s"$at/distance" -> ids.map(id => if (id == node.id) 10 else 20).mkString(" "),
      s"$at/meminfo" -> (s"Node ${node.id} MemTotal:       ${node.kilobytes} kB\n" +
        s"Node ${node.id} MemFree:        ${node.kilobytes / 2} kB")
    )
  }
}
