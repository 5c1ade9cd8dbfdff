package io.hearth.core.topology

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, InvalidPathException, Path}

import io.hearth.core.UserError
import io.hearth.core.json.Json

/** Reads machines: the running one, a captured one, a described one. */
object TopologyReader {

  /** The running machine, as this process (or its container) sees it. */
  def live(): Topology = read(Path.of("/"), "live")

  /**
   * @param machine nothing for the running machine; else a capture (directory or tar archive), a
   *                topology document (`contract/topology.schema.json`), or a description
   * @throws UserError where it is none of these
   */
  def load(machine: Option[String]): Topology = machine match {
    case None => live()
    case Some(text) => existing(text).fold(described(text))(fromPath(_, text))
  }

  /**
   * Reads sysfs and procfs.
   *
   * @param root `/`, or a directory that holds copies of `sys` and `proc`, or one directory that does
   * @throws UserError where there is no sysfs, or no CPU that may be used
   */
  def read(root: Path, source: String): Topology = {
    val tree = new SysTree(captureRoot(root))
    val warnings = new Warnings
    val cpus = new CpuReader(tree, warnings)
    val packages = cpus.packages
    val nodes = new NodeReader(tree, cpus.online, warnings).read()
    val nodeIds = IdSet.from(nodes.map(_.id))
    Topology(
      source,
      cpus.architecture,
      packages,
      nodes,
      cpus.caches,
      cpus.cores(packages),
      new DeviceReader(tree, cpus.online, nodeIds).read(),
      new AllowedReader(tree, warnings).read(cpus.online, nodeIds),
      warnings.toVector
    )
  }

  private def existing(text: String): Option[Path] =
    try Some(Path.of(text)).filter(Files.exists(_))
    catch { case _: InvalidPathException => None }

  private def described(text: String): Topology =
    try MachineSpec.parse(text)
    catch {
      case e: UserError =>
        throw new UserError(
          s"machine '$text' is neither an existing file or directory nor a description: ${e.getMessage}",
          Some(e)
        )
    }

  private def fromPath(path: Path, source: String): Topology =
    if (Files.isDirectory(path)) read(path, source)
    else if (beginsAsJson(path)) fromJson(path, source)
    else Archive.unpacked(path)(read(_, source))

  private def fromJson(path: Path, source: String): Topology =
    TopologyJson.read(Json.parse(Files.readString(path, UTF_8), source)).copy(source = source)

  private def beginsAsJson(path: Path): Boolean =
    try {
      val in = Files.newInputStream(path)
      try in.readNBytes(64).iterator.map(_.toChar).find(!_.isWhitespace).contains('{')
      finally in.close()
    } catch {
      case e: IOException =>
        throw new UserError(s"machine '$path' cannot be read: ${e.getMessage}", Some(e))
    }

  /** Archives hold one top directory as a rule: the capture is there or one level below. */
  private def captureRoot(root: Path): Path = {
    def isRoot(dir: Path) = Files.isDirectory(dir.resolve("sys/devices/system/cpu"))
    if (isRoot(root)) root
    else {
      val below = Archive.directories(root).filter(isRoot)
      if (below.size == 1) below.head
      else if (below.isEmpty)
        throw new UserError(
          s"$root holds no sysfs (sys/devices/system/cpu is absent): give a capture made by " +
            "hearth gather, or by hwloc-gather-topology"
        )
      else
        throw new UserError(
          s"$root holds ${below.size} captures: give one of them, such as ${below.head}"
        )
    }
  }
}
