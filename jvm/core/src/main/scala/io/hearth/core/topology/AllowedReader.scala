package io.hearth.core.topology

import io.hearth.core.Brief

/** What this process may use: scheduler affinity, cpuset, limits of memory, CPU time and tasks. */
final private[topology] class AllowedReader(tree: SysTree, warnings: Warnings) {
  private val cgroups = new Cgroups(tree)
  private val cpuset: Option[Cgroup] = cgroups.of("cpuset")

  /**
   * The CPUs that this process may run on, online or not; none where nothing tells. The scheduler's mask is
   * within the group's cpuset, so a file of a cpuset that contradicts it is another group's.
   */
  lazy val mask: Option[IdSet] = (status("Cpus_allowed"), cpusetIds("cpus")) match {
    case (Some(affinity), Some(group)) if !affinity.intersects(group) =>
      warnings.add(
        s"the affinity mask allows CPUs $affinity, the cgroup's cpuset $group: the affinity mask is used, " +
          "as by the kernel's scheduler"
      )
      Some(affinity)
    case (affinity, group) => (affinity ++ group).reduceOption(_ & _)
  }

  def read(online: IdSet, nodes: IdSet): Allowed = {
    val limits = new CgroupLimits(tree, cgroups)
    warnOfAddresses()
    cgroups
      .hidden(Vector("memory", "cpu", "pids"))
      .foreach(point =>
        warnings.add(
          s"the limits of this process's control group are not visible: $point belongs to another namespace; mount " +
            s"one of this namespace there (mount -t cgroup2 none $point), or give --memory and --cores"
        )
      )
    Allowed(
      mask.fold(online)(_ & online),
      allowedNodes(nodes),
      limits.memoryBytes,
      limits.cpuQuota,
      taskLimits
    )
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
    def field(label: String, parse: String => Either[String, IdSet]) = statusField(label)
      .flatMap(text => tree.orWarn(s"${AllowedReader.Status} ($label)", parse(text)))
    field(s"${name}_list:", IdSet.parse)
      .orElse(field(s"$name:", IdSet.parseMask))
      .filter(_.nonEmpty)
  }

  private def statusField(label: String): Option[String] = statusLines
    .collectFirst { case line if line.startsWith(label) => line.drop(label.length).trim }

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

  /** How many processes and threads there may be. */
  def taskLimits: Vector[TaskLimit] = new CgroupLimits(tree, cgroups).tasks.toVector ++ userTasks

  /** The user's soft limit; the kernel does not hold processes with certain capabilities to it. */
  private def userTasks: Option[TaskLimit] =
    softLimit(AllowedReader.Processes)
      .filterNot(_ => exempt)
      .flatMap(text => tree.orWarn(AllowedReader.Limits, AllowedReader.tasks(text)))
      .map(TaskLimit(TaskLimit.User, _, None))

  private def softLimit(name: String): Option[String] = tree
    .text(AllowedReader.Limits)
    .flatMap(_.linesIterator.collectFirst {
      case line if line.startsWith(name) => line.drop(name.length).trim.takeWhile(!_.isWhitespace)
    })
    .filterNot(_ == "unlimited")

  private def warnOfAddresses(): Unit = for {
    (name, what, option) <- AllowedReader.Addresses
    bytes <- softLimit(name).flatMap(_.toLongOption)
  } warnings.add(
    s"a process may have at most ${bytes >> 20} MB of $what (ulimit $option), and a JVM reserves more than its heap: " +
      s"'ulimit $option unlimited' before hearth, or --memory with a smaller heap"
  )

  private def exempt: Boolean = statusField("CapEff:").exists { text =>
    text.matches("[0-9a-fA-F]{1,16}") && AllowedReader.ExemptBits.exists(BigInt(text, 16).testBit)
  }
}

private[topology] object AllowedReader {
  val Status = "proc/self/status"
  val Limits = "proc/self/limits"
  val Processes = "Max processes"
  private val Addresses =
    Vector(("Max address space", "addresses", "-v"), ("Max data size", "data", "-d"))

  /** CAP_SYS_ADMIN and CAP_SYS_RESOURCE (getrlimit(2)). */
  private val ExemptBits = Vector(21, 24)

  private def tasks(text: String): Either[String, Long] =
    text.toLongOption.filter(_ > 0).toRight(s"'${Brief(text)}' is not a number of processes")

  def cpusetFiles(group: Cgroup, what: String): Vector[String] =
    if (group.unified) Vector(s"cpuset.$what.effective", s"cpuset.$what")
    else Vector(group.cpusetFile(s"effective_$what"), group.cpusetFile(what))
}
