package io.hearth.core.topology

import java.nio.file.{Files, Path}
import javax.xml.parsers.DocumentBuilderFactory

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite
import org.w3c.dom.{Element, Node}

import io.hearth.core.testing.{Child, Required, Temporary}

/**
 * Reads the same files with hwloc and compares: packages, nodes with their CPUs and memory, cores,
 * CPUs, distances, what is allowed. Where hwloc has a policy of its own, the difference is named here
 * with its reason.
 */
class HwlocOracleTest extends AnyFunSuite {

  /** What both can say of a machine. */
  private case class Facts(
      cpus: IdSet,
      packages: Set[(Int, IdSet)],
      cores: Set[IdSet],
      nodes: Map[Int, (IdSet, Long)],
      distances: Map[(Int, Int), Int],
      allowedCpus: IdSet,
      allowedNodes: IdSet
  )

  test("the captures of hwloc's project are there") {
    Required("shared", Captures.shared.nonEmpty, "../shared/data/machines")
    needHwloc()
    assert(Captures.shared.size >= 13)
  }

  for (capture <- Captures.shared ++ Captures.own)
    test(s"${capture.getFileName} reads the same from the archive, unpacked, and by hwloc") {
      unpacked(capture) { directory =>
        val read = TopologyReader.read(directory, "")
        val archive = Some(capture.toString)
        assert(TopologyReader.load(archive).copy(source = "") == read)
        def adapters(from: Option[String]) = TopologyReader.adapters(from, read)
        assert(adapters(archive) == adapters(Some(directory.toString)))
        needHwloc()
        agree(directory, read, exceptions(capture.getFileName.toString))
      }
    }

  for ((name, fixture) <- Machines.all)
    test(s"a generated machine reads the same from memory, as files, and by hwloc: $name") {
      fixture.in { directory =>
        val read = TopologyReader.read(directory, "fixture")
        assert(fixture.read() == read)
        needHwloc()
        agree(directory, read, exceptions(name))
      }
    }

  test(
    "an archive has the GPUs that links lead to, and huge pages of every size, as its files have"
  ) {
    val (pci, huge) = ("0000:01:00.0", "hugepages/hugepages-1048576kB/nr_hugepages")
    Machines.twoNodes
      .set(s"proc/driver/nvidia/gpus/$pci/information", "Model: a GPU")
      .set(s"sys/devices/pci0000:00/$pci/local_cpus", "f0")
      .set(s"${Fixture.Node}/node1/$huge", "3")
      .in { root =>
        val links = Files.createDirectories(root.resolve("sys/bus/pci/devices"))
        Files.createSymbolicLink(links.resolve(pci), Path.of(s"../../../devices/pci0000:00/$pci"))
        val read = TopologyReader.read(root, "")
        assert(read.devices.flatMap(_.localCpus.map(_.toString)) == Vector("4-7"))
        assert(read.nodes.map(_.hugePageBytes >> 30) == Vector(0, 3))
        Temporary.directory { other =>
          val file = other.resolve("machine.tar").toString
          assert(
            Child.run(Vector("tar", "-cf", file, "-C", root.toString, "sys", "proc")).exit == 0
          )
          assert(TopologyReader.load(Some(file)).copy(source = "") == read)
        }
      }
  }

  private def unpacked[A](archive: Path)(use: Path => A): A = Temporary.directory { directory =>
    val tar = Child.run(Vector("tar", "-xf", archive.toString, "-C", directory.toString))
    assert(tar.exit == 0, tar.err)
    use(directory)
  }

  test("hwloc reads what hearth gathers, and agrees") {
    needHwloc()
    Temporary.directory { directory =>
      val file =
        new Gatherer(Path.of("/")).write(directory.resolve("m.tar.gz"), force = false).output
      unpacked(file)(dir => agree(dir, TopologyReader.read(dir, ""), Set.empty))
    }
  }

  /** A difference that is hwloc's policy: what it does to the kernel's facts. */
  sealed abstract private class Policy(val apply: (Facts, Facts) => Facts)

  /**
   * hwloc shows a node without CPUs at the CPUs near it (by the firmware's initiators, else by
   * distance); the kernel's cpumap of such a node is empty, and so is ours.
   */
  private case object PlacesNodesWithoutCpus
      extends Policy((theirs, ours) =>
        theirs.copy(nodes = theirs.nodes.map { case (id, (cpus, bytes)) =>
          val none = ours.nodes.get(id).exists(_._1.isEmpty)
          id -> ((if (none) IdSet.empty else cpus) -> bytes)
        })
      )

  /** hwloc gives no number to a package whose id is -1; hearth numbers it and warns. */
  private case object LeavesPackagesUnnumbered
      extends Policy((theirs, ours) =>
        theirs.copy(packages = theirs.packages.map { case (_, cpus) =>
          ours.packages.find(_._2 == cpus).getOrElse(-1 -> cpus)
        })
      )

  /** hwloc takes a node's memory for as much as the kernel has initialised of it; hearth warns. */
  private case object CountsInitialisedMemory
      extends Policy((theirs, ours) =>
        theirs.copy(nodes = theirs.nodes.map { case (id, (cpus, bytes)) =>
          id -> (cpus -> ours.nodes.get(id).map(_._2).filter(_ > bytes).getOrElse(bytes))
        })
      )

  private def exceptions(name: String): Set[Policy] = Map[String, Set[Policy]](
    "128ia64-17n4s2c.tar.bz2" -> Set(PlacesNodesWithoutCpus),
    "fakeheteromemtiers.tar.bz2" -> Set(PlacesNodesWithoutCpus),
    "fakememinitiators-1np2c+1npp+gi.tar.bz2" -> Set(PlacesNodesWithoutCpus),
    "emulated-memory-only.tar.gz" -> Set(PlacesNodesWithoutCpus),
    "POWER with GPU memory" -> Set(PlacesNodesWithoutCpus),
    "no package ids" -> Set(LeavesPackagesUnnumbered)
  ).getOrElse(name, Set.empty)

  private def agree(directory: Path, read: Topology, policies: Set[Policy]): Unit = {
    val inside = Using.resource(Files.list(directory))(_.iterator.asScala.toVector)
    val root = (directory +: inside)
      .find(dir => Files.isDirectory(dir.resolve("sys")))
      .getOrElse(fail("no sysfs"))
    val ours = facts(read)
    val late = read.warnings.exists(_.contains("the kernel initialises memory"))
    val all = policies ++ Option.when(late)(CountsInitialisedMemory)
    val theirs = all.foldLeft(hwloc(root))((f, policy) => policy.apply(f, ours))
    assert(ours.cpus == theirs.cpus)
    assert(ours.packages == theirs.packages)
    assert(ours.cores == theirs.cores)
    assert(ours.nodes == theirs.nodes)
    assert(ours.distances == theirs.distances)
    assert(ours.allowedCpus == theirs.allowedCpus)
    assert(ours.allowedNodes == theirs.allowedNodes)
    ()
  }

  private def needHwloc(): Unit = Required("hwloc", Child.has("lstopo"), "hwloc (lstopo)")

  private def facts(t: Topology) = Facts(
    t.cpus,
    t.packages.map(p => p.id -> p.cpus).toSet,
    t.cores.map(_.cpus).toSet,
    t.nodes.map(n => n.id -> (n.cpus -> n.memoryBytes)).toMap,
    (for (n <- t.nodes; (to, d) <- n.distances if t.nodes.size > 1) yield (n.id, to) -> d).toMap,
    t.allowed.cpus,
    t.allowed.nodes
  )

  private def hwloc(root: Path): Facts = {
    val ran = Child.run(
      Vector(
        "lstopo",
        "--input",
        root.toString,
        "--if",
        "fsroot",
        "--of",
        "xml",
        "--disallowed",
        "-"
      )
    )
    assert(ran.exit == 0, ran.err)
    val document = parser.parse(new java.io.ByteArrayInputStream(ran.out.getBytes))
    val objects = elements(document.getElementsByTagName("object"))
    def of(kind: String) = objects.filter(_.getAttribute("type") == kind)
    val machine = of("Machine").head
    Facts(
      set(machine, "cpuset"),
      of("Package").map(p => number(p) -> set(p, "cpuset")).toSet,
      of("Core").map(set(_, "cpuset")).toSet,
      of("NUMANode").map { n =>
        val bytes = Option(n.getAttribute("local_memory")).filter(_.nonEmpty).fold(0L)(_.toLong)
        number(n) -> (set(n, "cpuset") -> bytes)
      }.toMap,
      elements(document.getElementsByTagName("distances2")).flatMap(distances).toMap,
      set(machine, "allowed_cpuset"),
      set(machine, "allowed_nodeset")
    )
  }

  private def distances(matrix: Element): Vector[((Int, Int), Int)] = {
    def values(tag: String) =
      elements(matrix.getElementsByTagName(tag))
        .flatMap(_.getTextContent.trim.split(' '))
        .map(_.toInt)
    val ids = values("indexes")
    val cells = for (from <- ids; to <- ids) yield (from, to)
    if (matrix.getAttribute("name") == "NUMALatency") cells.zip(values("u64values"))
    else Vector.empty
  }

  private def number(e: Element): Int =
    Option(e.getAttribute("os_index")).filter(_.nonEmpty).fold(-1)(_.toLong.toInt)

  /** hwloc's masks: `0xf,,0x1`, an empty group being zero, groups of 32 bits. */
  private def set(e: Element, name: String): IdSet = {
    val groups = e.getAttribute(name).split(",", -1).map(_.stripPrefix("0x"))
    val padded = groups.map(g => "0" * (8 - g.length) + g).mkString(",")
    IdSet.parseMask(padded).fold(fail(_), identity)
  }

  private def elements(list: org.w3c.dom.NodeList): Vector[Element] =
    Vector.tabulate(list.getLength)(list.item).collect { case e: Element if isElement(e) => e }

  private def isElement(node: Node) = node.getNodeType == Node.ELEMENT_NODE

  private val parser = {
    val factory = DocumentBuilderFactory.newInstance()
    factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false)
    factory.newDocumentBuilder()
  }
}
