package io.hearth.core.topology

import io.hearth.core.UserError

/**
 * Online CPUs, and the cores, packages, dies and caches that they make up.
 *
 * @param mask the CPUs that this process may run on, where known: there are such CPUs, whatever sysfs shows
 */
final private[topology] class CpuReader(
    tree: SysTree,
    warnings: Warnings,
    mask: Option[IdSet] = None
) {
  private val base = "sys/devices/system/cpu"
  private val info = new CpuInfo(tree)

  /** @throws UserError where the tree has no CPU */
  lazy val online: IdSet = {
    val present = tree.ids(base, "cpu")
    def running = OnlineCpus.notOff(tree, present)
    val all = tree.list(s"$base/online").filter(_.nonEmpty) match {
      case Some(listed) if present.isEmpty => listed
      case Some(listed) if OnlineCpus.hidden(tree, listed, permitted & present).nonEmpty =>
        warnings.add(
          s"$base/online says $listed, and this process may run on ${permitted & present}: the list is a container's " +
            "own (lxcfs) and is ignored"
        )
        running
      case Some(listed) => listed & present
      case None => running
    }
    if (all.isEmpty && permitted.isEmpty)
      throw new UserError(
        s"no CPU is online in $base: give a sysfs tree, as hearth topology --capture makes it"
      )
    withTopology(withOwn(all))
  }

  private def permitted: IdSet = mask.getOrElse(IdSet.empty)

  /** Where no CPU that this process may run on is shown, they are there all the same. */
  private def withOwn(shown: IdSet): IdSet =
    if (permitted.isEmpty || permitted.intersects(shown)) shown
    else {
      warnings.add(
        s"$base shows CPUs '$shown', and this process may run on $permitted: these are used, with no caches or nodes known"
      )
      shown | permitted
    }

  /** CPUs that the kernel does not describe, while it describes others, are not in use. */
  private def withTopology(cpus: IdSet): IdSet = {
    val known = IdSet.from(cpus.iterator.filter(cpu => tree.exists(s"$base/cpu$cpu/topology")))
    val used = if (known.intersects(permitted)) known else known | (cpus & permitted)
    val left = cpus &~ used
    if (known.isEmpty || left.isEmpty) cpus
    else {
      warnings.add(s"CPUs $left have no topology directory: they are left out")
      used
    }
  }

  /** Online CPUs in a list of the kernel's such as `isolated`; kernels without any write `(null)` into some. */
  def marked(list: String): IdSet =
    tree
      .line(s"$base/$list")
      .filter(_ != "(null)")
      .flatMap(text => tree.orWarn(s"$base/$list", IdSet.parse(text)))
      .fold(IdSet.empty)(_ & online)

  /** Its model, where `/proc/cpuinfo` names it. */
  def processor: Option[String] = info.processor

  def architecture: Option[String] = tree
    .line("proc/sys/kernel/arch")
    .orElse(hwlocArchitecture)
    .orElse(Option.when(tree.isLive)(System.getProperty("os.arch")).map(unameOf))
    .orElse(info.architecture)

  /** hwloc's captures carry it in a file of their own. */
  private def hwlocArchitecture: Option[String] =
    tree.text("proc/hwloc-nofile-info").flatMap { text =>
      text.linesIterator.collectFirst { case s"Architecture: $name" => name.trim }
    }

  private def unameOf(java: String): String = if (java == "amd64") "x86_64" else java

  def packages: Vector[CpuPackage] = packageSets.map { case (id, cpus) =>
    CpuPackage(id, cpus, dies(cpus))
  }

  private lazy val packageSets: Vector[(Int, IdSet)] = {
    val sets = groups(
      online,
      topology(_, "package_cpus", "core_siblings"),
      "package",
      cpu => samePackage.getOrElse(packageId(cpu), online)
    )
    numbered(sets, cpus => tree.int(path(cpus.head, "physical_package_id"))).sortBy(_._1)
  }

  /** By their id, for kernels whose sysfs has no packages. */
  private lazy val samePackage: Map[Option[Int], IdSet] = {
    val sets = online.toVector.groupBy(packageId).map { case (id, cpus) => id -> IdSet.from(cpus) }
    if (sets.keySet == Set(None)) warnings.add("the kernel reports no packages: one is assumed")
    sets
  }

  private def packageId(cpu: Int): Option[Int] =
    tree.int(path(cpu, "physical_package_id")).orElse(info.int(cpu, "physical id"))

  /** The kernel's ids; missing (-1) and repeated ones are replaced by the next free numbers. */
  private def numbered(sets: Vector[IdSet], id: IdSet => Option[Int]): Vector[(Int, IdSet)] = {
    val reported = sets.map(cpus => id(cpus).orElse(info.int(cpus.head, "physical id")))
    val valid = reported.zipWithIndex.map { case (known, at) =>
      known.filter(n => n >= 0 && reported.indexOf(known) == at)
    }
    val nameless = valid.indices.filter(valid(_).isEmpty)
    val free = valid.flatten.maxOption.fold(0)(_ + 1)
    if (nameless.nonEmpty)
      warnings.add(
        s"${nameless.size} of ${sets.size} packages have no id: they are numbered from $free"
      )
    val replaced = nameless.zipWithIndex.map { case (at, n) => at -> (free + n) }.toMap
    valid.zip(sets).zipWithIndex.map { case ((known, cpus), at) =>
      known.getOrElse(replaced(at)) -> cpus
    }
  }

  /** Dies of one CPU each are the default of architectures that have none. */
  private def dies(packageCpus: IdSet): Vector[Die] = {
    val sets = groups(
      packageCpus,
      cpu => pair(path(cpu, "die_cpus"), path(cpu, "die_cpus_list")),
      "die",
      _ => packageCpus
    )
    if (sets.size == 1 || sets.exists(_.size == 1))
      Vector(Die(dieId(packageCpus.head), packageCpus))
    else distinctIds(sets.map(cpus => dieId(cpus.head))).zip(sets).map((Die.apply _).tupled)
  }

  private def dieId(cpu: Int): Int = tree.int(path(cpu, "die_id")).filter(_ >= 0).getOrElse(0)

  private def distinctIds(ids: Vector[Int]): Vector[Int] =
    if (ids.distinct.size == ids.size) ids else ids.indices.toVector

  def cores(packages: Vector[CpuPackage]): Vector[Core] = {
    val packageByCpu = packages.iterator.flatMap(p => p.cpus.iterator.map(_ -> p)).toMap
    coreSets.flatMap { cpus =>
      val home = packageByCpu(cpus.head)
      val die = home.dies.find(_.cpus.contains(cpus.head)).fold(0)(_.id)
      units(cpus).map { unit =>
        val first = unit.head
        Core(coreId(first), home.id, die, unit, kindOf.get(first), efficient(first))
      }
    }
  }

  private def coreSets: Vector[IdSet] = groups(
    online,
    topology(_, "core_cpus", "thread_siblings"),
    "core",
    cpu => sameCore.getOrElse((packageId(cpu), knownCoreId(cpu)), IdSet(cpu))
  )

  private def units(cpus: IdSet): Vector[IdSet] = {
    val apart = cpus.size > 1 && info.hasComputeUnits && cpus.iterator.map(coreId).toSet.size > 1
    if (apart) cpus.toVector.map(IdSet(_)) else Vector(cpus)
  }

  private lazy val sameCore: Map[(Option[Int], Option[Int]), IdSet] = online.toVector
    .groupBy(cpu => (packageId(cpu), knownCoreId(cpu)))
    .collect { case (key @ (_, Some(_)), cpus) => key -> IdSet.from(cpus) }

  private def coreId(cpu: Int): Int = knownCoreId(cpu).getOrElse(cpu)

  private def knownCoreId(cpu: Int): Option[Int] =
    tree.int(path(cpu, "core_id")).orElse(info.int(cpu, "core id")).filter(_ >= 0)

  private lazy val kinds = new CpuKinds(tree, info)
  private lazy val kindOf: Map[Int, String] = kinds.read(online)
  private lazy val efficient: Set[Int] = kinds.efficient(kindOf)

  /** For each CPU that no group holds yet, the CPUs that share its highest cache. */
  def caches: Vector[CacheGroup] = {
    val start = (Vector.empty[CacheGroup], IdSet.empty)
    val (all, _) = online.iterator.foldLeft(start) { case ((done, taken), cpu) =>
      if (taken.contains(cpu)) (done, taken)
      else
        lastLevel(cpu).fold((done, taken)) { cache =>
          val cpus = ((cache.cpus & online) | IdSet(cpu)) &~ taken
          if (cpus.size < (cache.cpus & online).size)
            warnings.add(s"the level ${cache.level} cache of CPU $cpu overlaps another one's CPUs")
          (done :+ cache.copy(cpus = cpus), taken | cpus)
        }
    }
    all
  }

  private def lastLevel(cpu: Int): Option[CacheGroup] = {
    val all = for {
      index <- tree.ids(s"$base/cpu$cpu/cache", "index").toVector
      at = s"$base/cpu$cpu/cache/index$index"
      if !tree.line(s"$at/type").contains("Instruction")
      level <- tree.int(s"$at/level")
      cpus <- pair(s"$at/shared_cpu_map", s"$at/shared_cpu_list")
    } yield CacheGroup(level, tree.line(s"$at/size").flatMap(cacheBytes), cpus)
    all.maxByOption(_.level)
  }

  private def cacheBytes(text: String): Option[Long] = {
    val (digits, unit) = text.span(_.isDigit)
    val factor = unit.trim match {
      case "" => Some(1L)
      case "K" => Some(1L << 10)
      case "M" => Some(1L << 20)
      case _ => None
    }
    factor.flatMap(f => digits.toLongOption.map(_ * f)).filter(_ > 0)
  }

  /**
   * Parts `cpus` into disjoint groups, one for each set that CPUs name as theirs; where the sets contradict
   * each other, by the CPUs' ids.
   *
   * @param alike the CPUs with the same ids as a CPU
   */
  private def groups(
      cpus: IdSet,
      reported: Int => Option[IdSet],
      what: String,
      alike: Int => IdSet
  ): Vector[IdSet] = {
    val named =
      cpus.iterator.map(cpu => cpu -> (reported(cpu).getOrElse(alike(cpu)) & cpus)).toMap
    // Of each set, its first CPU speaks for all: sets that all contain their CPUs and that are as
    // large together as `cpus` are disjoint.
    val firsts = cpus.toVector.filter(cpu => named(cpu).nonEmpty && named(cpu).head == cpu)
    val agree = firsts.iterator.map(named(_).size).sum == cpus.size && named.forall {
      case (cpu, set) => set.contains(cpu) && named(set.head) == set
    }
    if (agree) firsts.map(named)
    else {
      val chosen = cpus.toVector.groupBy(alike).values.map(IdSet.from).toVector.sortBy(_.head)
      for (group <- chosen; cpu <- group.iterator if named(cpu) != group)
        warnings.add(
          s"the kernel's $what of CPU $cpu is ${named(cpu)}, which contradicts other CPUs': " +
            s"$group is used"
        )
      chosen
    }
  }

  private def path(cpu: Int, file: String): String = s"$base/cpu$cpu/topology/$file"

  /** The current file name, else the one used before Linux 5.3. */
  private def topology(cpu: Int, name: String, older: String): Option[IdSet] =
    pair(path(cpu, name), path(cpu, s"${name}_list"))
      .orElse(pair(path(cpu, older), path(cpu, s"${older}_list")))

  /** The mask before the list: older kernels cut long lists off after one page. */
  private def pair(maskPath: String, listPath: String): Option[IdSet] =
    tree.mask(maskPath).filter(_.nonEmpty).orElse(tree.list(listPath)).filter(_.nonEmpty)
}

/** Which CPUs run, by what each one's own directory says: the list of all may be a container's (lxcfs). */
private[core] object OnlineCpus {
  private val base = "sys/devices/system/cpu"

  /** CPUs that the list leaves out and that run all the same. */
  def hidden(tree: SysTree, listed: IdSet, among: IdSet): IdSet = {
    val left = among &~ listed
    val described = left.iterator.filter(cpu => tree.exists(s"$base/cpu$cpu/topology"))
    notOff(tree, IdSet.from(described))
  }

  def notOff(tree: SysTree, cpus: IdSet): IdSet =
    IdSet.from(cpus.iterator.filterNot(cpu => tree.int(s"$base/cpu$cpu/online").contains(0)))
}
