package io.hearth.core.topology

import io.hearth.core.{Brief, UserError}

/** What this process may use: scheduler affinity, cpuset, memory limit. */
final private[topology] class AllowedReader(tree: SysTree, warnings: Warnings) {
  private val cgroups = new Cgroups(tree)
  private val cpuset: Option[Cgroup] = cgroups.of("cpuset")

  /** @throws UserError where no online CPU is left */
  def read(online: IdSet, nodes: IdSet): Allowed = {
    val affinity = status("Cpus_allowed")
    val group = cpusetIds("cpus")
    val cpus = online & affinity.getOrElse(online) & group.getOrElse(online)
    if (cpus.isEmpty)
      throw new UserError(
        s"no CPU is allowed: $online are online, the affinity allows " +
          s"${affinity.fold("all")(_.toString)}, the cgroup ${group.fold("all")(_.toString)}; " +
          "widen the affinity (taskset) or the cgroup's cpuset"
      )
    Allowed(cpus, allowedNodes(nodes), memoryLimit)
  }

  private def allowedNodes(nodes: IdSet): IdSet = {
    val lists = Vector(status("Mems_allowed"), cpusetIds("mems")).flatten
    val allowed = lists.foldLeft(nodes)(_ & _)
    if (allowed.nonEmpty) allowed
    else {
      warnings.add(
        s"the memory nodes allowed (${lists.mkString(" and ")}) are not among $nodes: all are assumed allowed"
      )
      nodes
    }
  }

  /** A set of `/proc/self/status`, in its list form or, on older kernels, as a mask. */
  private def status(name: String): Option[IdSet] = {
    def field(label: String, parse: String => Either[String, IdSet]) = statusLines
      .collectFirst { case line if line.startsWith(label) => line.drop(label.length) }
      .flatMap(text => tree.orWarn(s"${AllowedReader.Status} ($label)", parse(text)))
    field(s"${name}_list:", IdSet.parse)
      .orElse(field(s"$name:", IdSet.parseMask))
      .filter(_.nonEmpty)
  }

  private lazy val statusLines: Vector[String] =
    tree.text(AllowedReader.Status).fold(Vector.empty[String])(_.linesIterator.toVector)

  /** The nearest group that has a set of its own: groups without the controller use their parent's. */
  private def cpusetIds(what: String): Option[IdSet] = cpuset.flatMap { group =>
    val files = AllowedReader.cpusetFiles(group, what)
    val found = for {
      directory <- group.directories.iterator
      file <- files
      ids <- tree.list(s"$directory/$file")
      if ids.nonEmpty
    } yield ids
    found.nextOption()
  }

  private def memoryLimit: Option[Long] = cgroups.of("memory").flatMap { group =>
    val limits = for {
      directory <- group.directories
      file = s"$directory/${AllowedReader.limitFile(group)}"
      text <- tree.line(file)
      if text != "max"
      limit <- tree.orWarn(file, AllowedReader.limitBytes(text))
      if limit < AllowedReader.Unlimited
    } yield limit.toLong
    limits.minOption
  }
}

private[topology] object AllowedReader {

  /** Version 1 writes the largest multiple of the page size that fits 63 bits for "no limit". */
  private val Unlimited = BigInt(1L << 60)

  /** Twenty digits hold 2^64, which old kernels write for "no limit". */
  private def limitBytes(text: String): Either[String, BigInt] =
    if (text.matches("[0-9]{1,20}") && BigInt(text) > 0) Right(BigInt(text))
    else Left(s"'${Brief(text)}' is not a memory limit in bytes")

  private val Status = "proc/self/status"

  def cpusetFiles(group: Cgroup, what: String): Vector[String] =
    if (group.unified) Vector(s"cpuset.$what.effective", s"cpuset.$what")
    else Vector(group.cpusetFile(s"effective_$what"), group.cpusetFile(what))

  def limitFile(group: Cgroup): String =
    if (group.unified) "memory.max" else "memory.limit_in_bytes"
}
