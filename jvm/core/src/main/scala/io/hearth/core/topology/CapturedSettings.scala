package io.hearth.core.topology

/**
 * What a capture holds for `hearth doctor` alone: clocks, heat, idle states, memory modules and their
 * errors, links of disks, boot options and counters. None of it names a machine or a user; of the
 * modules' strings the names of their places stay alone.
 */
final private class CapturedSettings(tree: SysTree, cpus: Vector[Int]) {
  import CapturedSettings._

  def files: Vector[(String, String)] =
    (Told ++ idleStates ++ hugePages ++ clocks ++ uncore ++ errors ++ heat ++ links)
      .flatMap(path => tree.text(path).map(path -> _)) ++ reduced ++ modules

  private def idleStates: Vector[String] = for {
    cpu <- cpus
    at = s"$Cpu/cpu$cpu/cpuidle"
    state <- tree.names(at).filter(_.startsWith("state"))
    file <- Vector("latency", "disable")
  } yield s"$at/$state/$file"

  private def clocks: Vector[String] = for {
    policy <- tree.names(s"$Cpu/cpufreq").filter(_.startsWith("policy"))
    file <- Clocks
  } yield s"$Cpu/cpufreq/$policy/$file"

  private def uncore: Vector[String] = for {
    part <- tree.names(Uncore)
    file <- Vector("initial_max_freq_khz", "max_freq_khz")
  } yield s"$Uncore/$part/$file"

  private def errors: Vector[String] = for {
    controller <- tree.names(Errors)
    file <- Vector("ce_count", "ue_count", "seconds_since_reset")
  } yield s"$Errors/$controller/$file"

  private def heat: Vector[String] = for {
    cpu <- cpus
    kind <- Vector("core", "package")
  } yield s"$Cpu/cpu$cpu/thermal_throttle/${kind}_throttle_total_time_ms"

  private def links: Vector[String] = for {
    name <- tree.names(Disks)
    file <- LinkFiles
  } yield s"$Disks/$name/device/$file"

  private def hugePages: Vector[String] =
    tree.names(HugePages).map(size => s"$HugePages/$size/free_hugepages")

  private def reduced: Vector[(String, String)] =
    Reduced.flatMap { case (path, told) => tree.text(path).map(text => path -> s"${told(text)}\n") }

  private def modules: Vector[(String, String)] = for {
    entry <- tree.names(Firmware).filter(_.startsWith("17-"))
    path = s"$Firmware/$entry/raw"
    raw <- tree.text(path).flatMap(module)
  } yield path -> raw

  /** A structure of type 17 (DMTF DSP0134) with the strings of its place alone; None for any other. */
  private def module(raw: String): Option[String] = {
    val length = if (raw.length > 1) raw(1).toInt else 0
    Option.when(length > Bank && raw.length >= length && raw(0).toInt == MemoryDevice) {
      val places = Vector(Locator, Bank).map(raw(_).toInt)
      val texts = raw.drop(length).split('\u0000').zipWithIndex.map { case (text, at) =>
        if (places.contains(at + 1)) text else "-"
      }
      raw.take(length) + texts.mkString("", "\u0000", "\u0000\u0000")
    }
  }
}

private object CapturedSettings {
  private val Cpu = "sys/devices/system/cpu"
  private val HugePages = "sys/kernel/mm/hugepages"
  private val Uncore = s"$Cpu/intel_uncore_frequency"
  private val Errors = "sys/devices/system/edac/mc"
  private val Disks = "sys/class/nvme"
  private val Firmware = "sys/firmware/dmi/entries"

  /** Of a device on PCI Express (ABI/testing/sysfs-bus-pci). */
  val LinkFiles: Vector[String] = for {
    which <- Vector("current", "max")
    what <- Vector("speed", "width")
  } yield s"${which}_link_$what"

  private val Told = Vector("proc/pressure/memory", "proc/net/softnet_stat") ++
    Vector("somaxconn", "netdev_max_backlog").map(name => s"proc/sys/net/core/$name") ++
    Vector("window_scaling", "sack", "moderate_rcvbuf").map(name =>
      s"proc/sys/net/ipv4/tcp_$name"
    ) ++
    Vector("platform_profile", "platform_profile_choices").map(name =>
      s"sys/firmware/acpi/$name"
    ) :+
    s"$Cpu/intel_pstate/max_perf_pct"
  private val Clocks = Vector("affected_cpus", "cpuinfo_max_freq", "scaling_max_freq") ++
    Vector("scaling_governor", "scaling_driver", "energy_performance_preference")
  private val MemoryDevice = 17
  private val Locator = 0x10
  private val Bank = 0x11

  /** Files of which only some words may be told: not who built the kernel, and where. */
  private val Reduced = Vector[(String, String => String)](
    "proc/cmdline" -> (text => words(text).filter(BootWord.matches).mkString(" ")),
    "proc/version" -> (text =>
      s"Linux version ${words(text).filter(_.startsWith("PREEMPT")).mkString(" ")}"
    ),
    "proc/stat" -> (_.linesIterator.take(1).mkString),
    "proc/uptime" -> (words(_).take(1).mkString),
    "proc/net/netstat" -> overflows,
    "proc/vmstat" -> (_.linesIterator.filter(_.startsWith("oom_kill ")).mkString("\n"))
  )

  /** Connections that found a listener's queue full, in the two lines that the kernel writes of them. */
  private def overflows(text: String): String = {
    val lines = text.linesIterator.filter(_.startsWith("TcpExt:")).map(words).toVector
    lines
      .map(line => s"TcpExt: ${line.lift(lines.head.indexOf("ListenOverflows")).mkString}")
      .mkString("\n")
  }

  private def words(text: String): Vector[String] = text.split("\\s+").toVector

  /** Boot options that say nothing but how the kernel uses the hardware. */
  private val BootWord =
    ("(idle|mitigations|isolcpus|nohz_full|rcu_nocbs|transparent_hugepage|numa_balancing|hugepages|hugepagesz|" +
      "default_hugepagesz|intel_idle.max_cstate|processor.max_cstate|intel_pstate|amd_pstate|preempt)=[\\w.,:+-]*|" +
      "nosmt|nosmt=force").r
}
