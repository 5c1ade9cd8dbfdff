package io.hearth.core.topology

import java.io.{ByteArrayOutputStream, OutputStream}
import java.nio.file.{Files, Path}

import scala.util.Random

import org.apache.commons.compress.archivers.tar.{
  TarArchiveEntry,
  TarArchiveOutputStream,
  TarConstants
}
import org.apache.commons.compress.compressors.CompressorStreamFactory
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.plan.{Limits, Planner, Seeded, Workload}
import io.hearth.core.testing.Temporary
import io.hearth.core.topology.Fixture.{Cpu, Node}

/** Captures come from somebody else: damaged, contradictory or made to harm, they are one line or a warning. */
class HostileCaptureTest extends AnyFunSuite {

  private def tar(write: TarArchiveOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new TarArchiveOutputStream(bytes)
    out.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX)
    write(out)
    out.close()
    bytes.toByteArray
  }

  private def put(out: TarArchiveOutputStream, name: String, text: String): Unit = {
    val entry = new TarArchiveEntry(name)
    entry.setSize(text.length.toLong)
    entry.setModTime(0L) // the same bytes each time: which bits matter depends on them
    out.putArchiveEntry(entry)
    out.write(text.getBytes("ISO-8859-1"))
    out.closeArchiveEntry()
  }

  private def link(out: TarArchiveOutputStream, name: String, target: String, kind: Byte): Unit = {
    val entry = new TarArchiveEntry(name, kind)
    entry.setLinkName(target)
    out.putArchiveEntry(entry)
    out.closeArchiveEntry()
  }

  private def twoNodes(out: TarArchiveOutputStream): Unit =
    Machines.twoNodes.files.toVector.sorted.foreach { case (path, text) =>
      put(out, s"m/$path", text)
    }

  private def compressed(kind: String)(write: OutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new CompressorStreamFactory().createCompressorOutputStream(kind, bytes)
    write(out)
    out.close()
    bytes.toByteArray
  }

  private def read(bytes: Array[Byte]): Topology = Temporary.directory { directory =>
    TopologyReader.load(Some(Files.write(directory.resolve("capture"), bytes).toString))
  }

  /** What a user learns about a refused archive: one line of bounded length. */
  private def refusal(bytes: Array[Byte]): String = {
    val said = intercept[UserError](read(bytes)).getMessage
    assert(said.linesIterator.size == 1 && said.length < 600, said)
    said
  }

  private val plain = tar(twoNodes)

  test("a capture reads the same plain and compressed by gzip, bzip2 or xz") {
    def bare(t: Topology) = t.copy(source = "")
    val expected = bare(Machines.twoNodes.read())
    assert(bare(read(plain)) == expected)
    for (kind <- Vector("gz", "bzip2", "xz"))
      assert(bare(read(compressed(kind)(_.write(plain)))) == expected, kind)
  }

  test(
    "a capture that is cut off at any place, or has a flipped bit in its compression, is refused"
  ) {
    val gz = compressed("gz")(_.write(plain))
    for (length <- (0 until gz.length by 97) :+ (gz.length - 1))
      assert(refusal(gz.take(length)).contains("is not a complete capture: "), length)
    for (length <- Vector(0, 1, 511, 512, 513, 10000, plain.length - 10240))
      assert(refusal(plain.take(length)).contains("is not a complete capture: "), length)
    for (at <- gz.length / 2 until gz.length by 101)
      assert(
        refusal(gz.updated(at, (gz(at) ^ 4).toByte)).contains("is not a complete capture: "),
        at
      )
    // The checksum of the compression comes last, however much follows the end of the archive.
    val padded = compressed("gz")(_.write(plain ++ new Array[Byte](1 << 20)))
    assert(read(padded).nodes.size == 2)
    for (at <- padded.length - 8 until padded.length)
      refusal(padded.updated(at, (padded(at) ^ 4).toByte))
  }

  test("what is wrong with an archive stands in the line, in a few words") {
    def reason(bytes: Array[Byte]) =
      refusal(bytes).replaceAll(".*capture: (.*); run .*", "$1")
    assert(reason(Array.emptyByteArray) == "it is empty")
    assert(reason("I am no archive".getBytes) == "it is not a tar archive")
    assert(reason(Array.fill(2000)('x'.toByte)) == "it is not a tar archive")
    assert(reason(plain.take(plain.length - 10240)) == "it is cut off")
    assert(reason(plain.updated(3, '?'.toByte)) == "it is not a tar archive")
    val second = plain.indexOfSlice("m/sys".getBytes, 600)
    assert(reason(plain.updated(second, '?'.toByte)).startsWith("the header of '?/sys"))
    val gz = compressed("gz")(_.write(plain))
    for (length <- Seq(5, gz.length / 2, gz.length - 4))
      assert(reason(gz.take(length)) == "it is cut off")
    val lz4 = compressed("lz4-framed")(_.write(plain))
    assert(reason(lz4) == "it is compressed with lz4-framed, which hearth cannot read")
  }

  test(
    "an archive that unpacks to gigabytes is refused once it is beyond the limit, in little memory"
  ) {
    val zeros = new Array[Byte](1 << 20)
    def filled(count: Int, name: Int => String) = compressed("gz") { stream =>
      val out = new TarArchiveOutputStream(stream)
      for (i <- 0 until count) {
        val entry = new TarArchiveEntry(name(i))
        entry.setSize(3L << 20)
        out.putArchiveEntry(entry)
        for (_ <- 0 until 3) out.write(zeros)
        out.closeArchiveEntry()
      }
      out.close()
    }
    val small = Archive.Limits(unpacked = 10 << 20, memory = 1 << 20)
    def refused(bytes: Array[Byte]) = Temporary.directory { directory =>
      val file = Files.write(directory.resolve("bomb"), bytes)
      intercept[UserError](Archive.read(file, "bomb", small)).getMessage
    }
    assert(refused(filled(4, i => s"m/sys/bus/$i")).contains("it unpacks to more than 10 MB"))
    assert(refused(filled(1, i => s"m/sys/$i")).contains("takes more than 1 MB of memory"))
  }

  test("a file, a name or a tree of names that is too large is refused before it is held") {
    val entry = new TarArchiveEntry("m/sys/large")
    entry.setSize(4L << 30)
    val first = tar(put(_, "m/sys/first", "1")).take(1024)
    val header = new Array[Byte](512)
    entry.writeEntryHeader(header)
    assert(
      refusal(first ++ header ++ new Array[Byte](40 << 20))
        .contains("is larger than 32 MB")
    )
    val longName = new TarArchiveEntry("././@LongLink", TarConstants.LF_GNUTYPE_LONGNAME)
    longName.setSize(200L << 20)
    longName.writeEntryHeader(header)
    assert(refusal(header ++ Array.fill(2 << 20)('a'.toByte)).contains("takes more than 1 MB"))
  }

  test("a path or a link that leads out of an archive shows nothing of the machine that reads it") {
    assert(refusal(tar(put(_, "m/../../etc/x", "1"))).contains("points outside it"))
    val linked = tar { out =>
      twoNodes(out)
      link(out, "m/proc/self/status", "/proc/self/status", TarConstants.LF_SYMLINK)
      link(out, "m/proc/cpuinfo", "../../../../../../proc/cpuinfo", TarConstants.LF_SYMLINK)
      link(out, "m/sys/class/net", "loop", TarConstants.LF_SYMLINK)
      link(out, "m/sys/class/loop", "net", TarConstants.LF_SYMLINK)
    }
    assert(read(linked).copy(source = "") == Machines.twoNodes.read().copy(source = ""))
    assert(refusal(tar { out =>
      link(out, "m/sys", "/sys", TarConstants.LF_SYMLINK)
      put(out, "m/sys/devices/x", "1")
    }).contains("is below something that is not a directory"))
    val tree = new MemoryFiles.Builder
    tree.file("m/there", Array.emptyByteArray)
    tree.link("m/relative", "there")
    tree.link("m/absolute", "/there")
    assert(tree.result.exists("m/relative") && !tree.result.exists("m/absolute"))
    assert(
      refusal(tar(link(_, "m/a", "/etc/passwd", TarConstants.LF_LINK)))
        .contains("is a hard link to")
    )
  }

  test(
    "a directory that is a capture by its links alone is none: the machine that reads it stays hidden"
  ) {
    Temporary.directory { directory =>
      Files.createSymbolicLink(directory.resolve("m"), Path.of("/"))
      val inner = Files.createDirectory(directory.resolve("n"))
      Files.createSymbolicLink(inner.resolve("sys"), Path.of("/sys"))
      val said = intercept[UserError](TopologyReader.load(Some(directory.toString))).getMessage
      assert(said.contains("contains no sysfs"))
    }
  }

  test(
    "garbage where the kernel lists CPUs, nodes, limits or memory is a warning that names the file"
  ) {
    val limited = Machines.nestedCgroup2
    val group = limited.files.keys.filter(_.endsWith("memory.max")).minBy(_.length)
    val cpuset = limited.files.keys.filter(_.endsWith("cpuset.cpus.effective")).maxBy(_.length)
    val machines = Vector(
      s"$Cpu/online" -> "garbage",
      s"$Cpu/online" -> "0-70000",
      s"$Node/online" -> "0-",
      s"$Node/node0/cpumap" -> "xyz",
      s"$Node/node0/meminfo" -> "Node 0 MemTotal: 9223372036854775807 kB",
      s"$Cpu/cpu1/topology/core_id" -> "99999999999",
      "proc/self/status" -> "Cpus_allowed_list:\t3-1",
      group -> "-1",
      group -> "plenty",
      cpuset -> "0;1"
    )
    for ((path, text) <- machines) {
      val t = limited.set(path, text).read()
      assert(t.warnings.exists(_.startsWith(path)), s"$path '$text': ${t.warnings}")
      assert(t.nodes.forall(n => n.memoryBytes >= 0), path)
    }
    assert(limited.set(group, "max").read().warnings.isEmpty)
  }

  test("CPUs beyond those that can be read are a warning, and so is each bound of a warning") {
    val t = Machines.twoNodes.set(s"$Cpu/cpu70000/topology/core_id", "1").read()
    assert(t.warnings.exists(_.contains("1 entries above cpu65535")), t.warnings)
    val long = Machines.twoNodes.set(s"$Cpu/online", "0-3," + "x" * 100000).read()
    assert(long.warnings.nonEmpty && long.warnings.forall(_.length < 600))
    val one = new Warnings
    one.add("x" * 5000)
    assert(one.toVector.map(_.length < 600) == Vector(true))
    val many = new Warnings
    (1 to 1000).foreach(n => many.add(s"sentence $n"))
    assert(many.toVector.size == 51 && many.toVector.last.startsWith("950 more warnings"))
  }

  test(
    "a distance below 10, a node's own, is a warning in a capture and refused in a description"
  ) {
    val t = Machines.twoNodes.set(s"$Node/node0/distance", "10 5").read()
    assert(t.nodes.head.distances.isEmpty && t.warnings.exists(_.contains("5 is below 10")))
    for (spec <- Vector("distance 9", "distances 10 9 / 20 10", "distances 20 10 / 10 20"))
      intercept[UserError](MachineSpec.parse(s"2 nodes of 1 GB, 1 core, $spec"))
  }

  test(
    "more nodes than Linux supports are refused, in a capture and in a description, whatever their number"
  ) {
    val nodes = (0 until 1025).map(id => s"$Node/node$id/cpulist" -> s"$id")
    val capture = Fixture((nodes ++ (0 until 1025).map(c => s"$Cpu/cpu$c/online" -> "1")).toMap)
    assert(
      intercept[UserError](capture.read()).getMessage
        .contains("1025 nodes, and Linux supports at most 1024")
    )
    for (
      text <- Vector(
        "65536 nodes of 1 GB, 1 core",
        "1 node of 1 GB, 1 core, 65536 memory-only nodes of 1 GB"
      )
    )
      assert(
        intercept[UserError](MachineSpec.parse(text)).getMessage.contains("that Linux supports")
      )
  }

  test("an error about a machine is one line of bounded length, however long its description") {
    for (text <- Vector("x" * 6000, "1 " * 3000, "a\u001b[31mb", "two\nlines " * 500)) {
      val said = intercept[UserError](TopologyReader.load(Some(text))).getMessage
      assert(said.length < 1000 && !said.exists(_.isControl), said.length)
    }
  }

  private val garbage =
    Vector("", "x", "-1", "0", "1", "7", "0-3", "3-1", "0-65535", "0-70000", "0-,", "0-14:2/4") ++
      Vector(
        "0-9:0/0",
        "ffffffff",
        "ffffffff,00000000",
        "f" * 20000,
        "0x10",
        "9" * 30,
        "1e9",
        "max",
        "\u0000\u00ff",
        "10 20",
        "20 10",
        "10 1000000",
        "Node 0 MemTotal: -5 kB",
        "MemTotal: 99999999999999999999 kB",
        "0::/../..",
        "cgroup2 / cgroup2 rw",
        "1 2 3 / / - cgroup2 x rw",
        "processor : 0\n" * 500
      )

  private def damaged(random: Random, fixture: Fixture): Fixture = {
    val paths = fixture.files.keys.toVector.sorted
    (0 to random.nextInt(4)).foldLeft(fixture) { (f, _) =>
      val path = paths(random.nextInt(paths.size))
      val text = f.files.getOrElse(path, "")
      random.nextInt(5) match {
        case 0 => f.without(path)
        case 1 => f.without(path.take(path.lastIndexOf('/')))
        case 2 if text.nonEmpty => f.set(path, text.take(random.nextInt(text.length)))
        case 3 if text.nonEmpty =>
          f.set(path, text.updated(random.nextInt(text.length), random.nextPrintableChar()))
        case _ => f.set(path, garbage(random.nextInt(garbage.size)))
      }
    }
  }

  test("whatever a file of sysfs or procfs holds, a machine is read and planned for, or refused") {
    val machines = Machines.all.values.filter(_.files.size < 2000).toVector
    for (seed <- Seeded.first until Seeded.first + 3 * Seeded.count) {
      val random = new Random(seed)
      val fixture = damaged(random, machines(random.nextInt(machines.size)))
      try {
        val topology = fixture.read()
        assert(TopologyJson.read(TopologyJson.write(topology)) == topology)
        Planner.plan(topology, Workload.unknown, Limits.none, IdSet.empty)
      } catch {
        case _: UserError => ()
        case e: Throwable =>
          fail(
            s"HEARTH_SEED=$seed makes this again: $e at ${e.getStackTrace.take(5).mkString(" ")}"
          )
      }
    }
  }
}
