package io.hearth.core.topology

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, InvalidPathException, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.affinity.{Adapter, AdapterReader}
import io.hearth.core.{Brief, UserError}
import io.hearth.core.json.Json

/** Reads machines: the running one, a captured one, a described one. */
object TopologyReader {

  /** A document with 1,024 nodes and a million distances has 24 MB. */
  private val LargestDocument = 128L << 20

  private[topology] val Remedy =
    "run 'hearth topology --capture FILE' on that machine, or describe it in a line such as " +
      "'2 nodes of 64 GB, 8 cores'"

  /** The running machine, as this process (or its container) sees it, with what its batch system gave it. */
  def live(environment: String => Option[String] = sys.env.get): Topology = {
    val root = Path.of("/")
    val machine = read(root, "live")
    val batch = BatchLimits.here(new SysTree(root), environment)
    machine.copy(allowed = machine.allowed.copy(batch = batch))
  }

  /**
   * @param machine nothing for the running machine; else a capture (directory or tar archive), a
   *                topology document (`hearth schema topology`), or a description
   * @throws UserError where it is none of these
   */
  def load(machine: Option[String]): Topology = machine match {
    case None => live()
    case Some(text) => existing(text).fold(described(text))(fromPath(_, text))
  }

  /**
   * Network interfaces and adapters of the same machine: of a topology document and of a description only
   * what the topology's devices tell.
   */
  def adapters(machine: Option[String], topology: Topology): Vector[Adapter] =
    files(machine).fold(Adapters.known(topology)) { files =>
      new AdapterReader(new SysTree(files, new Warnings).asTree, topology.cpus.toBitSet)
        .read()
        .asScala
        .toVector
    }

  private def files(machine: Option[String]): Option[TreeFiles] = machine match {
    case None => Some(new DirectoryFiles(Path.of("/")))
    case Some(text) =>
      existing(text).filter(path => Files.isDirectory(path) || !beginsAsJson(path)).map { path =>
        val files =
          if (Files.isDirectory(path)) new DirectoryFiles(path) else Archive.read(path, text)
        captureRoot(files, text)
      }
  }

  /**
   * Reads sysfs and procfs.
   *
   * @param root `/`, or a directory that holds copies of `sys` and `proc`, or one directory that does
   * @throws UserError where there is no sysfs, or no CPU that may be used
   */
  def read(root: Path, source: String): Topology = read(new DirectoryFiles(root), source)

  private[topology] def read(files: TreeFiles, source: String): Topology = {
    val warnings = new Warnings
    val tree = new SysTree(captureRoot(files, source), warnings)
    val allowed = new AllowedReader(tree, warnings)
    val cpus = new CpuReader(tree, warnings, allowed.mask)
    val packages = cpus.packages
    val memory = new NodeReader(tree, cpus.online, warnings).read()
    val nodes = memory.nodes
    val nodeIds = IdSet.from(nodes.map(_.id))
    Topology(
      source,
      cpus.architecture,
      packages,
      nodes,
      cpus.caches,
      cpus.cores(packages),
      new DeviceReader(tree, cpus.online, nodeIds).read(),
      allowed.read(cpus.online, nodeIds).within(memory.limitBytes),
      warnings.toVector,
      cpus.processor,
      cpus.marked("isolated"),
      cpus.marked("nohz_full")
    )
  }

  private def existing(text: String): Option[Path] =
    try Option.when(!text.isBlank)(Path.of(text)).filter(Files.exists(_))
    catch { case _: InvalidPathException => None }

  private def described(text: String): Topology =
    if (mayDescribe(text)) MachineSpec.parse(text)
    else
      throw new UserError(
        s"machine: no file or directory is named '${Brief(text)}': correct the path, $Remedy"
      )

  /**
   * Whether a text may be a description: several words and a number, unlike a file's name and unlike what lscpu and
   * numactl print.
   */
  private def mayDescribe(text: String): Boolean = {
    val words = text.trim.split("\\s+")
    val name =
      text.trim.toLowerCase.matches("""([~./].*|.*\.(tar|tgz|tbz2?|txz|gz|bz2|xz|zst|json|zip))""")
    val printed = text.contains(':') && text.trim.contains('\n')
    words.length > 1 && words.exists(_.exists(_.isDigit)) && !name && !printed
  }

  private def fromPath(path: Path, source: String): Topology =
    if (Files.isDirectory(path)) read(path, source)
    else if (!Files.isRegularFile(path))
      throw new UserError(
        s"machine '${Brief(source)}' is neither a file nor a directory: $Remedy"
      )
    else
      try
        if (beginsAsJson(path)) fromJson(path, source)
        else read(Archive.read(path, source), source)
      catch {
        case e: IOException =>
          throw new UserError(
            s"machine '${Brief(source)}' cannot be read: ${Brief(String.valueOf(e.getMessage))}",
            Some(e)
          )
      }

  private def fromJson(path: Path, source: String): Topology =
    try {
      if (Files.size(path) > TopologyReader.LargestDocument)
        throw new UserError(s"it is larger than ${TopologyReader.LargestDocument >> 20} MB")
      val text = new String(Files.readAllBytes(path), UTF_8)
      TopologyJson.read(Json.parse(text, "it")).copy(source = source)
    } catch {
      case e: UserError =>
        throw new UserError(
          s"machine '${Brief(source)}' is not a topology document: ${Brief(e.getMessage, 400)}",
          Some(e)
        )
    }

  private def beginsAsJson(path: Path): Boolean =
    Using.resource(Files.newInputStream(path)) {
      _.readNBytes(64).iterator.map(_.toChar).find(!_.isWhitespace).contains('{')
    }

  /** Archives usually have one top directory: the capture is there or one level below. */
  private def captureRoot(files: TreeFiles, source: String): TreeFiles = {
    def isRoot(tree: TreeFiles) = tree.isDirectory("sys/devices/system/cpu")
    val candidates =
      if (files.isLive || isRoot(files)) Vector(files -> ".") // here /sys may be hidden
      else
        files.names("").flatMap(name => files.below(name).map(_ -> name)).filter(c => isRoot(c._1))
    candidates match {
      case Vector((one, _)) => one
      case Vector() =>
        throw new UserError(
          s"machine '${Brief(source)}' contains no sysfs (sys/devices/system/cpu is absent): give a capture " +
            "made by hearth topology --capture, or by hwloc-gather-topology"
        )
      case several =>
        val names = Brief(several.map(_._2).mkString(", "))
        throw new UserError(
          s"machine '${Brief(source)}' contains several captures ($names): give one of them"
        )
    }
  }
}
