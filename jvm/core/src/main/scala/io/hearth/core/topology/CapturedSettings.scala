package io.hearth.core.topology

/** What a capture holds for `hearth doctor` alone. None of it names a machine or a user. */
final private class CapturedSettings(tree: SysTree) {
  import CapturedSettings._

  def files: Vector[(String, String)] =
    (Pressure +: (hugePages ++ governors)).flatMap(path => tree.text(path).map(path -> _)) ++
      reduced

  private def governors: Vector[String] = for {
    policy <- tree.names(s"$Cpu/cpufreq").filter(_.startsWith("policy"))
    file <- Vector("affected_cpus", "scaling_governor", "scaling_driver")
  } yield s"$Cpu/cpufreq/$policy/$file"

  private def hugePages: Vector[String] =
    tree.names(HugePages).map(size => s"$HugePages/$size/free_hugepages")

  private def reduced: Vector[(String, String)] =
    Reduced.flatMap { case (path, told) => tree.text(path).map(text => path -> s"${told(text)}\n") }
}

private object CapturedSettings {
  private val Cpu = "sys/devices/system/cpu"
  private val HugePages = "sys/kernel/mm/hugepages"
  private val Pressure = "proc/pressure/memory"

  /** Files of which only some lines may be told. */
  private val Reduced = Vector[(String, String => String)](
    "proc/stat" -> (_.linesIterator.take(1).mkString),
    "proc/vmstat" -> (_.linesIterator.filter(_.startsWith("oom_kill ")).mkString("\n"))
  )
}
