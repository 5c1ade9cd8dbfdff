package io.hearth.core.topology

import java.io.IOException
import java.nio.file.{Files, Path}

import io.hearth.core.UserError
import io.hearth.core.files.OwnFiles

/** @param bytes size of the archive */
final case class Gathered(output: Path, files: Int, bytes: Long)

/**
 * Writes a capture: the files that [[TopologyReader]] reads, as a `.tar.gz` that reads back to the same
 * topology anywhere, and the settings that `hearth doctor` judges.
 *
 * Nothing in it identifies the machine: no serial number, no host name, no address (interfaces that
 * are named after theirs get a number instead), and cgroups lose their names, which hold those of users
 * and containers.
 */
final class Gatherer(root: Path) {
  private val tree = new SysTree(root)
  private val contents = new CaptureContents(tree)

  /**
   * @param force whether an existing file may be replaced
   * @throws UserError where the file exists already or cannot be written; nothing is left behind
   */
  def write(output: Path, force: Boolean): Gathered = {
    val target = output.toAbsolutePath.normalize
    if (Files.isDirectory(target))
      fail(target, "it is a directory; name a file, such as machine.tar.gz")
    if (Files.exists(target) && !force) fail(target, "it already exists; use --force to replace it")
    if (!Files.isDirectory(target.getParent))
      fail(target, s"${target.getParent} is not a directory")
    val partial =
      target.resolveSibling(s".${target.getFileName}.${ProcessHandle.current.pid}.partial")
    partial.toFile.deleteOnExit() // Ctrl-C and SIGTERM too
    try {
      val files = contents.files
      OwnFiles.replace(target, partial) {
        Archive.write(partial, Gatherer.Top, files, contents.directories)
      }
      Gathered(target, files.size, Files.size(target))
    } catch { case e: IOException => fail(target, Option(e.getMessage).getOrElse(e.toString)) }
  }

  private def fail(target: Path, problem: String): Nothing =
    throw new UserError(s"the capture cannot be written to $target: $problem")
}

private object Gatherer {
  private val Top = "machine"
}

/** What a capture holds, as paths and texts. */
final private class CaptureContents(tree: SysTree) {
  private val cpuBase = "sys/devices/system/cpu"
  private val nodeBase = "sys/devices/system/node"
  private val hugePageBase = "sys/kernel/mm/hugepages"
  private val reader = new CpuReader(tree, new Warnings)

  def files: Vector[(String, String)] =
    copied ++ settings ++ filtered ++ devices.flatMap(_._2) ++ network ++ cgroups ++
      reader.architecture.map(name => "proc/sys/kernel/arch" -> s"$name\n")

  /** Directories whose existence is the information. */
  def directories: Vector[String] =
    devices.map(_._1) ++ interfaces
      .flatMap(below) ++ cpus.map(cpu => s"$cpuBase/cpu$cpu/topology").filter(tree.exists)

  private val cpus: Vector[Int] = tree.ids(cpuBase, "cpu").toVector

  private def copied: Vector[(String, String)] = {
    val ofCpus = for {
      cpu <- cpus
      at = s"$cpuBase/cpu$cpu"
      caches = tree.names(s"$at/cache").filter(_.startsWith("index"))
      file <- Vector("online", "cpu_capacity") ++
        CaptureContents.TopologyFiles.map(name => s"topology/$name") ++
        caches.flatMap(index => CaptureContents.CacheFiles.map(name => s"cache/$index/$name"))
    } yield s"$at/$file"
    val ofNodes = for {
      node <- tree.ids(nodeBase, "node").toVector
      file <- Vector("cpumap", "cpulist", "distance")
    } yield s"$nodeBase/node$node/$file"
    val hugePages = for {
      node <- tree.ids(nodeBase, "node").toVector
      at = s"$nodeBase/node$node/hugepages"
      size <- tree.names(at)
    } yield s"$at/$size/nr_hugepages"
    val lists =
      Vector("online", "possible").flatMap(f => Vector(s"$cpuBase/$f", s"$nodeBase/$f")) ++
        Vector("isolated", "nohz_full").map(f => s"$cpuBase/$f")
    val monitors =
      tree.names("sys/devices").filter(_.startsWith("cpu_")).map(name => s"sys/devices/$name/cpus")
    (lists ++ ofCpus ++ ofNodes ++ hugePages ++ MemoryTiers.files(tree) ++ monitors).flatMap(path =>
      tree.text(path).map(path -> _)
    )
  }

  /** What the kernel and the firmware are set to, for the doctor and for comparing machines. */
  private def settings: Vector[(String, String)] = {
    val frequencies = cpus.map(cpu => s"$cpuBase/cpu$cpu/cpufreq/cpuinfo_max_freq")
    val governors = for {
      policy <- tree.names(s"$cpuBase/cpufreq").filter(_.startsWith("policy"))
      file <- Vector("affected_cpus", "scaling_governor", "scaling_driver")
    } yield s"$cpuBase/cpufreq/$policy/$file"
    val freePages = tree.names(hugePageBase).map(size => s"$hugePageBase/$size/free_hugepages")
    (CaptureContents.Settings ++ frequencies ++ governors ++ freePages)
      .flatMap(path => tree.text(path).map(path -> _))
  }

  /** Files of which only some lines matter. */
  private def filtered: Vector[(String, String)] = {
    val memory =
      Vector("MemTotal:", "MemFree:", "SwapTotal:", "HugePages_Total:", "Hugepagesize:") ++
        Vector("MemAvailable:", "SwapFree:", "CommitLimit:", "Committed_AS:")
    val nodes = tree.ids(nodeBase, "node").toVector.map(id => s"$nodeBase/node$id/meminfo")
    val gpus = "proc/driver/nvidia/gpus"
    (nodes :+ "proc/meminfo").flatMap(lines(_)(line => memory.exists(line.contains))) ++
      tree
        .names(gpus)
        .flatMap(gpu => lines(s"$gpus/$gpu/numa_status")(_.trim.startsWith("Node:"))) ++
      lines("proc/zoneinfo")(l => CaptureContents.ZoneLine.matches(l)) ++
      lines(AllowedReader.Status)(l => CaptureContents.StatusFields.exists(l.startsWith)) ++
      lines(AllowedReader.Limits)(_.startsWith(AllowedReader.Processes)) ++
      lines("proc/stat")(_.startsWith("cpu ")) ++
      lines("proc/vmstat")(_.startsWith("oom_kill ")) ++
      lines("proc/cpuinfo")(l =>
        l.isBlank || CaptureContents.CpuInfoFields(l.takeWhile(_ != ':').trim)
      )
  }

  private def lines(path: String)(keep: String => Boolean): Option[(String, String)] =
    tree.text(path).map(text => path -> text.linesIterator.filter(keep).mkString("", "\n", "\n"))

  private lazy val places = new DeviceReader(tree, IdSet.empty, tree.ids(nodeBase, "node")).places

  private val netBase = "sys/class/net"
  private val rdmaBase = "sys/class/infiniband"

  private def interfaces: Vector[String] = tree.names(netBase)

  private def shown(name: String): String =
    CaptureContents.withoutAddress(name, places.indexWhere(_._2 == name))

  /** What an interface sends through: the kernel's links, as directories. */
  private def below(name: String): Vector[String] = tree
    .names(s"$netBase/$name")
    .filter(_.startsWith("lower_"))
    .map(lower => s"$netBase/${shown(name)}/lower_${shown(lower.stripPrefix("lower_"))}")

  /** Links and speeds of network devices, and which of them carries the default route: no address. */
  private def network: Vector[(String, String)] = {
    val links = for {
      name <- interfaces
      file <- Vector("type", "operstate", "carrier", "speed", "duplex")
      text <- tree.text(s"$netBase/$name/$file")
    } yield s"$netBase/${shown(name)}/$file" -> text
    val ports = for {
      name <- tree.names(rdmaBase)
      port <- tree.names(s"$rdmaBase/$name/ports")
      file <- Vector("state", "rate", "link_layer")
      text <- tree.text(s"$rdmaBase/$name/ports/$port/$file")
    } yield s"$rdmaBase/$name/ports/$port/$file" -> text
    val routes = tree.text("proc/net/route").fold(Vector.empty[Array[String]]) {
      _.linesIterator.map(_.trim.split("\\s+")).toVector
    }
    val default = routes.collect {
      case f if f.length >= 8 && f(1) == "00000000" && f(7) == "00000000" =>
        s"${shown(f(0))} 00000000 00000000 ${f(3)} 0 0 ${f(6)} 00000000\n"
    }
    links ++ ports ++ Option.when(default.nonEmpty)("proc/net/route" -> default.mkString)
  }

  /** Each device's directory, and in it the files of its place. */
  private lazy val devices: Vector[(String, Vector[(String, String)])] =
    places.zipWithIndex.map { case ((directory, name, place), number) =>
      val at = s"$directory/${CaptureContents.withoutAddress(name, number)}/device"
      val files = for {
        from <- place.toVector
        file <- DeviceReader.PlaceFiles
        text <- tree.text(s"$from/$file")
      } yield s"$at/$file" -> text
      at -> files
    }

  /** The cgroups of this process, each hierarchy at a mount point of its own, without their names. */
  private def cgroups: Vector[(String, String)] = {
    val groups = new Cgroups(tree)
    val hierarchies = CaptureContents.Controllers.flatMap(name => groups.of(name).map(name -> _))
    val table = hierarchies.map { case (name, group) =>
      val prefix = if (group.mount.options("noprefix")) ",noprefix" else ""
      s"none /sys/fs/cgroup/$name ${group.mount.kind} rw,$name$prefix 0 0\n"
    }
    val members = hierarchies.collect {
      case (name, group) if name != "cpuset" =>
        if (group.unified) s"0::${steps(group)}\n" else s"1:$name:${steps(group)}\n"
    }
    val cpuset = hierarchies.collect { case ("cpuset", group) =>
      "proc/self/cpuset" -> s"${steps(group)}\n"
    }
    Vector(
      "proc/mounts" -> table.mkString,
      "proc/self/cgroup" -> members.distinct.mkString
    ) ++ cpuset ++
      hierarchies.flatMap { case (name, group) => groupFiles(name, group) }
  }

  private def steps(group: Cgroup): String =
    Vector.range(1, group.directories.size).map(depth => s"g$depth").mkString("/", "/", "")

  private def groupFiles(name: String, group: Cgroup): Vector[(String, String)] = {
    val controllers = Option.when(group.unified)(s"sys/fs/cgroup/$name/cgroup.controllers" -> name)
    controllers.toVector ++ (for {
      (from, depth) <- group.directories.reverse.zipWithIndex
      to = (name +: Vector.range(1, depth + 1).map(d => s"g$d")).mkString("/")
      file <- CgroupLimits.files(name, group)
      text <- tree.text(s"$from/$file")
    } yield s"sys/fs/cgroup/$to/$file" -> text)
  }
}

private object CaptureContents {
  private val Controllers = Vector("cpuset", "memory", "cpu", "pids")

  private val StatusFields = Vector("Cpus_allowed", "Mems_allowed", "CapEff")

  private val TopologyFiles = Vector("physical_package_id", "die_id", "core_id") ++
    Vector("package_cpus", "core_siblings", "die_cpus", "core_cpus", "thread_siblings")
      .flatMap(name => Vector(name, s"${name}_list"))

  private val CacheFiles = Vector("level", "type", "size", "shared_cpu_list", "shared_cpu_map")

  private val Settings = Vector("proc/pressure/memory") ++
    Vector("swappiness", "dirty_ratio", "dirty_background_ratio", "dirty_bytes").map(vm) ++
    Vector("dirty_background_bytes", "max_map_count").map(vm) ++
    Vector("overcommit_memory", "zone_reclaim_mode").map(vm) ++
    Vector("numa_balancing", "pid_max", "threads-max").map(n => s"proc/sys/kernel/$n") ++
    Vector("transparent_hugepage/enabled", "transparent_hugepage/defrag")
      .map(name => s"sys/kernel/mm/$name") ++
    Vector("current_clocksource", "available_clocksource")
      .map(name => s"sys/devices/system/clocksource/clocksource0/$name") ++
    Vector("present", "offline", "smt/control", "intel_pstate/no_turbo", "cpufreq/boost")
      .map(name => s"sys/devices/system/cpu/$name") ++
    Vector("scaling_governor", "scaling_driver")
      .map(name => s"sys/devices/system/cpu/cpu0/cpufreq/$name")

  private def vm(name: String) = s"proc/sys/vm/$name"

  /** Which zones a node has, and how much memory ([[MachineMemory.presentIn]]). */
  private val ZoneLine = """Node \d+, zone.*|\s+(present|managed)\s+\d+""".r

  /** The fields that [[CpuInfo]] and its readers ask for: none identifies a machine. */
  private val CpuInfoFields =
    Set("processor", "physical id", "core id", "vendor_id", "cpu family") ++
      Set("cpu", "arch", "CPU implementer", "CPU architecture", "CPU part") ++
      Set("model name", "cpu model", "uarch")

  /** `enx001122334455` is named after its address. */
  private def withoutAddress(name: String, number: Int): String = {
    val address = name.takeRight(12)
    val named = name.length > 12 && address.forall(c => Character.digit(c, 16) >= 0)
    if (named) s"${name.dropRight(12)}-$number" else name
  }
}
