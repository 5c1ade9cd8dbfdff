package io.hearth.core.topology

/**
 * `/proc/cpuinfo`, one map of its lines for each CPU: what kernels without sysfs files still offer.
 */
final private[topology] class CpuInfo(tree: SysTree) {

  private lazy val blocks: Vector[Map[String, String]] =
    tree.text("proc/cpuinfo").fold(Vector.empty[Map[String, String]]) { text =>
      val lines = text.linesIterator.map(_.trim).toVector
      split(lines).map(_.flatMap(entry).toMap).filter(_.nonEmpty)
    }

  private lazy val byCpu: Map[Int, Map[String, String]] =
    blocks.flatMap(block => block.get("processor").flatMap(_.toIntOption).map(_ -> block)).toMap

  def field(cpu: Int, name: String): Option[String] = byCpu.get(cpu).flatMap(_.get(name))

  def int(cpu: Int, name: String): Option[Int] = field(cpu, name).flatMap(_.toIntOption)

  /** The first occurrence of a field. */
  def any(name: String): Option[String] = blocks.iterator.flatMap(_.get(name)).nextOption()

  /**
   * AMD families 15h and 16h report the two cores of a compute unit as siblings; they are cores all
   * the same (as hwloc has it).
   */
  lazy val hasComputeUnits: Boolean =
    any("vendor_id").contains("AuthenticAMD") && any("cpu family").exists(Set("21", "22"))

  /**
   * The processors' model in the kernel's words; arm64's tells only who made them and which part it is.
   * Several, where the machine is hybrid.
   */
  def processor: Option[String] = {
    val named =
      Vector("model name", "cpu model", "cpu", "uarch").iterator.map(each).find(_.nonEmpty)
    val parts = for {
      block <- blocks
      maker <- block.get("CPU implementer")
      part <- block.get("CPU part")
    } yield CpuInfo.ArmParts.getOrElse(s"$maker $part", s"Arm implementer $maker, part $part")
    Option(named.getOrElse(parts).distinct.mkString(" and ")).filter(_.nonEmpty)
  }

  /** POWER adds what the core can do: `POWER9, altivec supported`. */
  private def each(name: String): Vector[String] = for {
    block <- blocks
    value <- block.get(name)
    model = value.stripSuffix(", altivec supported").replaceAll("\\s+", " ")
    if model.nonEmpty && model != "unknown"
  } yield model

  /** The machine's name in the words of `uname -m`, from the fields that only one architecture has. */
  def architecture: Option[String] =
    if (any("arch").exists(_.startsWith("IA-64"))) Some("ia64")
    else if (any("vendor_id").exists(_.startsWith("IBM/S390"))) Some("s390x")
    else if (any("cpu").exists(_.startsWith("POWER"))) Some("ppc64")
    else if (any("CPU implementer").nonEmpty)
      Some(if (any("CPU architecture").contains("7")) "armv7l" else "aarch64")
    else if (any("vendor_id").nonEmpty && any("cpu family").nonEmpty) Some("x86_64")
    else None

  private def entry(line: String): Option[(String, String)] = line.indexOf(':') match {
    case -1 => None
    case at => Some(line.take(at).trim -> line.drop(at + 1).trim)
  }

  private def split(lines: Vector[String]): Vector[Vector[String]] = {
    val ends = lines.indices.filter(lines(_).isEmpty) :+ lines.size
    (-1 +: ends).sliding(2).map(pair => lines.slice(pair.head + 1, pair.last)).toVector
  }
}

private object CpuInfo {

  /** Server processors by implementer and part, as their makers' manuals of MIDR_EL1 number them. */
  private val ArmParts = Map(
    "0x41 0xd08" -> "Arm Cortex-A72",
    "0x41 0xd0c" -> "Arm Neoverse N1",
    "0x41 0xd40" -> "Arm Neoverse V1",
    "0x41 0xd49" -> "Arm Neoverse N2",
    "0x41 0xd4f" -> "Arm Neoverse V2",
    "0x43 0x0af" -> "Cavium ThunderX2",
    "0x46 0x001" -> "Fujitsu A64FX",
    "0x48 0xd01" -> "HiSilicon TaiShan v110",
    "0xc0 0xac3" -> "AmpereOne"
  )
}
