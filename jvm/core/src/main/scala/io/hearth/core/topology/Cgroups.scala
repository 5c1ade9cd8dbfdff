package io.hearth.core.topology

/**
 * A mounted cgroup hierarchy.
 *
 * @param root the cgroup that the mount point shows: not `/` in a container without its own namespace
 */
final private[topology] case class CgroupMount(
    point: String,
    root: String,
    kind: String,
    options: Set[String]
)

/**
 * The cgroup of this process in one hierarchy.
 *
 * @param directories of the group and its ancestors up to the mount point, the group's own first
 */
final private[topology] case class Cgroup(mount: CgroupMount, directories: Vector[String]) {
  def unified: Boolean = mount.kind == "cgroup2"

  /** The name of a cpuset file: the oldest mounts carry no prefix. */
  def cpusetFile(name: String): String =
    if (mount.kind == "cpuset" || mount.options("noprefix")) name else s"cpuset.$name"
}

/** Which cgroups this process is in: versions 1 and 2, whole machines and containers. */
final private[topology] class Cgroups(tree: SysTree) {

  /**
   * The group that holds `controller` (`cpuset`, `memory`), if the tree shows it: the mounted one where
   * `/proc/self/cgroup` is hidden.
   */
  def of(controller: String): Option[Cgroup] = for {
    mount <- mountOf(controller)
    path <- pathIn(mount, controller)
  } yield Cgroup(mount, directories(mount, path))

  /** Of these controllers, the mount points that do not show the group of this process: its limits are unknown. */
  def hidden(controllers: Vector[String]): Vector[String] =
    (for {
      controller <- controllers
      mount <- mountOf(controller)
      path <- pathIn(mount, controller)
      if Cgroups.parts(path).contains("..") ||
        Cgroups.isForeign(mount) && ownBelow(mount, path).isEmpty
    } yield mount.point).distinct

  lazy val mounts: Vector[CgroupMount] = {
    val mounts =
      tree.text("proc/self/mountinfo").map(_.linesIterator.flatMap(fromMountInfo).toVector)
    mounts.filter(_.nonEmpty).getOrElse {
      val table = tree.text("proc/self/mounts").orElse(tree.text("proc/mounts")).getOrElse("")
      table.linesIterator.flatMap(fromMounts).toVector
    }
  }

  private def fromMountInfo(line: String): Option[CgroupMount] = {
    val (fields, rest) = line.split(' ').toVector.span(_ != "-")
    (fields.lift(3), fields.lift(4), rest.lift(1), rest.lift(3)) match {
      case (Some(root), Some(point), Some(kind), Some(options)) =>
        cgroupMount(point, root, kind, options)
      case _ => None
    }
  }

  private def fromMounts(line: String): Option[CgroupMount] = line.split(' ').toVector match {
    case _ +: point +: kind +: options +: _ => cgroupMount(point, "/", kind, options)
    case _ => None
  }

  private def cgroupMount(point: String, root: String, kind: String, options: String) =
    Option.when(Set("cgroup", "cgroup2", "cpuset")(kind))(
      CgroupMount(unescaped(point), unescaped(root), kind, options.split(',').toSet)
    )

  /** Mount tables write a blank as `\040`. */
  private def unescaped(text: String): String = text.replace("\\040", " ")

  private def mountOf(controller: String): Option[CgroupMount] = {
    val older = mounts.filter(isOlder(_, controller))
    mounts.find(m => older.contains(m) || unifiedHas(m, controller, older.nonEmpty))
  }

  private def isOlder(mount: CgroupMount, controller: String): Boolean =
    mount.kind == "cgroup" && mount.options(controller) ||
      mount.kind == "cpuset" && controller == "cpuset"

  private def unifiedHas(mount: CgroupMount, controller: String, olderToo: Boolean): Boolean =
    mount.kind == "cgroup2" && tree
      .line(s"${mount.point}/cgroup.controllers")
      .fold(!olderToo)(_.split(' ').contains(controller))

  private def pathIn(mount: CgroupMount, controller: String): Option[String] = {
    val cpuset = Option.when(controller == "cpuset")(tree.line("proc/self/cpuset")).flatten
    cpuset
      .orElse(memberships.collectFirst {
        case (controllers, path) if mount.kind == "cgroup2" && controllers == Set("") => path
        case (controllers, path) if mount.kind != "cgroup2" && controllers(controller) => path
      })
      .orElse(Option.when(memberships.isEmpty)(mount.root))
  }

  private lazy val memberships: Vector[(Set[String], String)] =
    tree.text("proc/self/cgroup").fold(Vector.empty[(Set[String], String)]) { text =>
      text.linesIterator
        .map(_.split(":", 3))
        .collect { case Array(_, controllers, path) => (controllers.split(',').toSet, path) }
        .toVector
    }

  /**
   * The steps to this process's group in a mount that belongs to a namespace above its own: the namespace begins as
   * many groups below as the root has `..`, by a name that only the list of its processes tells.
   */
  private def ownBelow(mount: CgroupMount, path: String): Option[Vector[String]] = {
    val up = Cgroups.parts(mount.root)
    val pid = tree.line("proc/self/stat").map(_.takeWhile(_.isDigit)).filter(_.nonEmpty)
    def file(steps: Vector[String]) = (mount.point +: steps :+ "cgroup.procs").mkString("/")
    val starts = up.foldLeft(Vector(Vector.empty[String])) { (groups, _) =>
      groups.flatMap(at => tree.names((mount.point +: at).mkString("/")).map(at :+ _))
    }
    starts
      .filter(_ => up.forall(_ == ".."))
      .map(_ ++ Cgroups.parts(path))
      .find(steps => tree.text(file(steps)).exists(_.linesIterator.exists(pid.contains)))
  }

  private def directories(mount: CgroupMount, path: String): Vector[String] =
    (if (Cgroups.isForeign(mount)) ownBelow(mount, path).getOrElse(Vector.empty)
     else Cgroups.below(mount.root, path)).inits
      .map(parts => (mount.point +: parts).mkString("/"))
      .toVector
}

private[topology] object Cgroups {

  /** Whether it was made in a namespace above this process's: its root is then `/..`, `/../..`. */
  def isForeign(mount: CgroupMount): Boolean = parts(mount.root).headOption.contains("..")

  /**
   * The steps from a mount's root down to `path`. A path outside that root is what a container without
   * its own cgroup namespace sees; its mount point shows its own group, so the steps are none.
   */
  def below(root: String, path: String): Vector[String] = {
    val from = parts(root)
    val to = parts(path)
    if (to.startsWith(from) && !to.contains("..")) to.drop(from.size) else Vector.empty
  }

  def parts(path: String): Vector[String] = path.split('/').iterator.filter(_.nonEmpty).toVector
}
