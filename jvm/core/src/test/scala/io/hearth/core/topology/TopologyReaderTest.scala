package io.hearth.core.topology

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.testing.Temporary
import io.hearth.core.topology.Fixture.{Cpu, Node}

class TopologyReaderTest extends AnyFunSuite {

  test("a machine of two packages shows its packages, nodes, cores and threads") {
    val t = Machines.twoNodes.read()
    assert(
      t.packages.map(p => p.id -> p.cpus.toString) == Vector(0 -> "0-3,8-11", 1 -> "4-7,12-15")
    )
    assert(t.nodes.map(n => n.id -> n.cpus.toString) == Vector(0 -> "0-3,8-11", 1 -> "4-7,12-15"))
    assert(t.nodes.map(_.memoryBytes) == Vector.fill(2)(64L << 30))
    assert(t.nodes.map(_.freeBytes) == Vector.fill(2)(Some(32L << 30)))
    assert(t.nodes(1).distances == Map(0 -> 20, 1 -> 10))
    assert(t.cores.map(_.cpus.toString).take(2) == Vector("0,8", "1,9"))
    assert(t.cpus.toString == "0-15" && t.allowed == Allowed(t.cpus, IdSet(0, 1), None))
    assert(t.warnings.isEmpty)
  }

  test(
    "POWER with two of eight threads online keeps the kernel's ids: CPUs 0,1,8,9 and nodes 0 and 8"
  ) {
    val t = Machines.powerWithSmtGaps.read()
    assert(t.cpus.toString == "0-1,8-9,16-17,24-25,32-33,40-41,48-49,56-57")
    assert(t.cores.map(_.cpus.size) == Vector.fill(8)(2))
    assert(t.nodes.map(_.id) == Vector(0, 8) && t.nodes.last.distances == Map(0 -> 20, 8 -> 10))
    assert(t.packages.map(_.id) == Vector(0, 8) && t.architecture.contains("ppc64"))
    assert(t.warnings.isEmpty)
  }

  test(
    "nodes 250 to 255, the memory of GPUs, are memory-only nodes; the driver tells what they are"
  ) {
    val unknown = Machines.powerWithGpuMemory.read()
    assert(unknown.nodes.map(_.id) == Vector(0, 8) ++ (250 to 255))
    assert(unknown.nodes.drop(2).forall(n => n.cpus.isEmpty && n.memoryBytes == (16L << 30)))
    val known = Machines.powerWithGpuDriver.read()
    assert(known.nodes.map(_.gpuMemory) == Vector(false, false) ++ Vector.fill(6)(true))
  }

  test("sparse ids stay as they are, and what is offline is left out") {
    val t = Machines.sparse.read()
    assert(t.cpus.toString == "2-4,6,8-13")
    assert(
      t.nodes.map(n => n.id -> n.cpus.toString) == Vector(1 -> "2-4,6", 2 -> "8-11", 5 -> "12-13")
    )
    assert(t.nodes.map(_.memoryBytes) == Vector(8L << 30, 8L << 30, 0L))
    assert(t.nodes.last.distances == Map(1 -> 20, 2 -> 20, 5 -> 10))
  }

  test("more than 1,024 CPUs and more than 64 nodes are read whole") {
    val t = Machines.large.read()
    assert(t.cpus.toString == "0-1535" && t.nodes.size == 96 && t.cores.size == 768)
    assert(t.node(95).exists(_.cpus.toString == "1520-1535"))
    // As many as Linux knows, all in one package: a cost that grows with their square shows here.
    val largest = Fixture((0 until 8192).map(c => s"$Cpu/cpu$c/online" -> "1").toMap).read()
    assert(largest.cpus.size == 8192 && largest.packages.map(_.cpus) == Vector(largest.cpus))
  }

  test("an old kernel's masks and per-CPU files are enough") {
    val t = Machines.oldKernel.read()
    assert(t.cpus.toString == "0-2,4-15")
    assert(t.cores.map(_.cpus.toString).take(4) == Vector("0,8", "1,9", "2,10", "4,12"))
    assert(t.packages.size == 2 && t.nodes.map(_.cpus.size) == Vector(7, 8))
  }

  test("a node that claims another one's CPUs is left out with a warning") {
    val t = Machines.overlappingNodes.read()
    assert(t.nodes.map(_.id) == Vector(0) && t.nodes.head.distances == Map(0 -> 10))
    assert(t.warnings.exists(_.contains("NUMA node 1 claims CPUs of an earlier node")))
    assert(t.warnings.exists(_.contains("CPUs 4-7,12-15 belong to no NUMA node")))
  }

  test("distances to a node that is left out do not shift those to the others") {
    val t = Machines.sparse
      .set(s"$Node/node2/cpumap", "00000f1c")
      .set(s"$Node/node2/cpulist", "2-4,8-11")
      .set(s"$Node/node1/distance", "10 21 31")
      .read()
    assert(t.nodes.map(_.id) == Vector(1, 5) && t.nodes.head.distances == Map(1 -> 10, 5 -> 31))
  }

  test("a machine without NUMA is one node of everything, with a warning") {
    val t = Machines.noNuma.read()
    assert(t.nodes.map(_.cpus) == Vector(t.cpus))
    assert(t.nodes.head.memoryBytes == (128L << 30) && t.nodes.head.distances == Map(0 -> 10))
    assert(t.warnings.exists(_.contains("no NUMA nodes")))
  }

  test("packages without an id are numbered, with a warning, and cores find theirs") {
    val t = Machines.noPackageIds.read()
    assert(t.packages.map(_.id) == Vector(0, 1))
    assert(t.cores.map(_.packageId) == Vector.fill(4)(0) ++ Vector.fill(4)(1))
    assert(t.warnings == Vector("2 of 2 packages have no id: they are numbered from 0"))
  }

  test("without any topology files the cores come from /proc/cpuinfo") {
    val bare = Machines.twoNodes.without((0 until 16).map(c => s"$Cpu/cpu$c/topology"))
    val dirs = (0 until 16).foldLeft(bare)((f, c) => f.set(s"$Cpu/cpu$c/online", "1"))
    val info = (0 until 16).map { c =>
      s"processor\t: $c\nphysical id\t: ${c % 8 / 4}\ncore id\t\t: ${c % 4}\n"
    }
    val t = dirs.set("proc/cpuinfo", info.mkString("\n")).read()
    val whole = Machines.twoNodes.read()
    assert(t.cores == whole.cores && t.packages == whole.packages)
  }

  test("siblings that contradict each other do not put a CPU into two cores") {
    val t = Machines.twoNodes.set(s"$Cpu/cpu1/topology/core_cpus", "00000203").read()
    assert(t.cores.map(_.cpus.size).sum == 16 && t.cpus.size == 16)
    assert(t.warnings.exists(_.contains("core of CPU 1")))
  }

  test("distances that are too few, or no numbers, are absent with a warning; the rest is read") {
    for (wrong <- Vector("10", "10 abc", "", "-1 20")) {
      val t = Machines.twoNodes.set(s"$Node/node0/distance", wrong).read()
      assert(t.nodes.head.distances.isEmpty && t.nodes(1).distances.nonEmpty, wrong)
      assert(t.warnings.exists(_.contains("node 0 has no readable distances")), wrong)
    }
    val flat = Machines.twoNodes.set(s"$Node/node0/distance", "10 10").read()
    assert(flat.nodes.head.distances == Map(0 -> 10, 1 -> 10))
    assert(flat.warnings.exists(_.contains("firmware's distances are wrong")))
  }

  test("a node without a readable memory size counts as 0 bytes, with a warning") {
    val t = Machines.twoNodes.set(s"$Node/node1/meminfo", "garbage").read()
    assert(t.nodes(1).memoryBytes == 0 && t.nodes(1).freeBytes.isEmpty)
    assert(t.warnings.exists(_.contains("node 1 has no readable memory size")))
  }

  test("dies are told apart, and single-CPU dies (architectures without dies) are not") {
    def withDies(die: Int => IdSet) = (0 until 16).foldLeft(Machines.twoNodes) { (f, c) =>
      f.set(s"$Cpu/cpu$c/topology/die_cpus_list", die(c).toString)
        .set(s"$Cpu/cpu$c/topology/die_id", s"${c % 4 / 2}")
    }
    val pairs =
      withDies(c => IdSet(c % 8 / 2 * 2, c % 8 / 2 * 2 + 1, c % 8 / 2 * 2 + 8, c % 8 / 2 * 2 + 9))
    assert(
      pairs.read().packages.head.dies.map(d => d.id -> d.cpus.toString) ==
        Vector(0 -> "0-1,8-9", 1 -> "2-3,10-11")
    )
    assert(pairs.read().cores.map(_.dieId).take(4) == Vector(0, 0, 1, 1))
    assert(withDies(IdSet(_)).read().packages.forall(_.dies.size == 1))
  }

  test("the last-level caches are the highest level's groups, instructions aside") {
    val t = cached("0-1,8-9").read()
    assert(t.caches.head == CacheGroup(3, Some(32L << 20), IdSet(0, 1, 8, 9)))
    assert(t.caches.size == 13)
  }

  private def cached(shared: String) = (0 until 16).foldLeft(Machines.twoNodes) { (f, c) =>
    val at = s"$Cpu/cpu$c/cache"
    val third = if (Set(0, 1, 8, 9)(c)) shared else s"$c"
    f.set(s"$at/index0/level", "1")
      .set(s"$at/index0/type", "Data")
      .set(s"$at/index0/shared_cpu_list", s"$c")
      .set(s"$at/index1/level", "4")
      .set(s"$at/index1/type", "Instruction")
      .set(s"$at/index1/shared_cpu_list", s"$c")
      .set(s"$at/index3/level", "3")
      .set(s"$at/index3/type", "Unified")
      .set(s"$at/index3/size", "32768K")
      .set(s"$at/index3/shared_cpu_list", third)
  }

  test("the processor's model is the kernel's: x86's name, POWER's core, Arm's part, or none") {
    def model(lines: String*) =
      Machines.twoNodes.set("proc/cpuinfo", lines.mkString("\n")).read().processor
    val intel = "model name\t: Intel(R) Xeon(R)  CPU E5-2697 v2 @ 2.70GHz"
    assert(
      model("processor : 0", intel, "", "processor : 1", intel)
        .contains("Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz")
    )
    assert(Machines.powerWithSmtGaps.read().processor.contains("POWER8E (raw)"))
    def arm(part: String) =
      Vector("processor : 0", "CPU implementer\t: 0x41", s"CPU part : $part", "")
    assert(model(arm("0xd0c"): _*).contains("Arm Neoverse N1"))
    assert(
      model(arm("0xd4f") ++ arm("0x123"): _*)
        .contains("Arm Neoverse V2 and Arm implementer 0x41, part 0x123")
    )
    assert(model("processor : 0", "model name : unknown").isEmpty)
    assert(Machines.twoNodes.read().processor.isEmpty)
  }

  test("huge pages of all sizes are a part of their node's memory, by its list or by its meminfo") {
    val at = s"$Node/node1/hugepages"
    val listed = Machines.twoNodes
      .set(s"$at/hugepages-2048kB/nr_hugepages", "1024")
      .set(s"$at/hugepages-1048576kB/nr_hugepages", "3")
    assert(listed.read().nodes.map(_.hugePageBytes >> 30) == Vector(0, 5))
    val older = Machines.twoNodes
      .set(
        s"$Node/node0/meminfo",
        "Node 0 MemTotal: 67108864 kB\nNode 0 MemFree: 3 kB\nNode 0 HugePages_Total:  512"
      )
      .set("proc/meminfo", "MemTotal: 134217728 kB\nHugePages_Total: 512\nHugepagesize: 2048 kB")
    assert(older.read().nodes.map(_.hugePageBytes >> 20) == Vector(1024, 0))
    val whole = Machines.noNuma
      .set("proc/meminfo", "MemTotal: 134217728 kB\nHugePages_Total: 512\nHugepagesize: 2048 kB")
    assert(whole.read().nodes.map(_.hugePageBytes >> 20) == Vector(1024))
    assert(Machines.twoNodes.read().nodes.forall(_.hugePageBytes == 0))
  }

  test(
    "of nodes without CPUs it is known which are faster and which slower, by firmware or kernel"
  ) {
    def node(id: Int, mbps: Int, ns: Int)(f: Fixture) = f
      .set(s"$Node/node$id/access0/initiators/read_bandwidth", s"$mbps")
      .set(s"$Node/node$id/access0/initiators/read_latency", s"$ns")
    val machine = Machines.powerWithGpuMemory // nodes 0 and 8 with CPUs, 250 to 255 without
    val told = Seq((0, 100, 90), (8, 100, 90), (250, 300, 120), (251, 40, 250), (252, 100, 200))
      .foldLeft(machine) { case (f, (id, mbps, ns)) => node(id, mbps, ns)(f) }
    def tiers(f: Fixture) = f.read().nodes.flatMap(n => n.tier.map(n.id -> _))
    import MemoryTier._
    assert(tiers(told) == Vector(250 -> Faster, 251 -> Slower, 252 -> Slower))
    val kernels = Seq("2" -> "253", "4" -> "0,8,254", "22" -> "255").foldLeft(told) {
      case (f, (tier, nodes)) =>
        f.set(s"sys/devices/virtual/memory_tiering/memory_tier$tier/nodelist", nodes)
    }
    val byKernel = Vector(253 -> Faster, 254 -> Alike, 255 -> Slower)
    assert(tiers(kernels) == tiers(told) ++ byKernel)
    val read = kernels.read()
    assert(TopologyJson.read(TopologyJson.write(read)) == read)
    assert(kernels.in { root =>
      Temporary.directory { to =>
        val file = new Gatherer(root).write(to.resolve("m.tar.gz"), force = false).output
        TopologyReader.load(Some(file.toString)).nodes == read.nodes
      }
    })
    val gpus = Machines.powerWithGpuDriver
    assert(tiers(node(250, 900, 90)(node(0, 100, 90)(gpus))).isEmpty, "a GPU's are no tier")
  }

  test("hybrid cores carry the kernel's kind: by x86's monitors, by Arm's part, by capacity") {
    val monitors = Machines.twoNodes
      .set("sys/devices/cpu_core/cpus", "0-3,8-11")
      .set("sys/devices/cpu_atom/cpus", "4-7,12-15")
    assert(
      monitors.read().cores.map(_.kind.mkString) ==
        Vector.fill(4)("cpu_core") ++ Vector.fill(4)("cpu_atom")
    )
    val parts = (0 until 16).map { c =>
      s"processor : $c\nCPU implementer : 0x41\nCPU part : 0x${if (c % 8 < 4) "d85" else "d87"}\n"
    }
    val arm = Machines.twoNodes.set("proc/cpuinfo", parts.mkString("\n")).read()
    assert(arm.cores.head.kind.contains("arm_0x41_0xd85") && arm.architecture.contains("aarch64"))
    val capacity = (0 until 16).foldLeft(Machines.twoNodes) { (f, c) =>
      f.set(s"$Cpu/cpu$c/cpu_capacity", if (c % 8 < 4) "1024" else "512")
    }
    assert(capacity.read().cores.last.kind.contains("capacity_512"))
    assert(capacity.read().cores.map(_.efficient) == Vector.fill(4)(false) ++ Vector.fill(4)(true))
    assert(Machines.twoNodes.read().cores.forall(_.kind.isEmpty))
  }

  test("a disk has the place of its controller; software devices and partitions are not listed") {
    val pci = "sys/devices/pci0000:80/0000:80:01.0"
    val fixture = Machines.twoNodes
      .set(s"$pci/numa_node", "1")
      .set(s"$pci/local_cpulist", "4-7,12-15")
      .set(s"$pci/host0/target/block/sda/size", "1")
      .set(s"$pci/net/eth0/mtu", "1500")
      .set("sys/class/net/lo/mtu", "65536")
      .set("sys/class/infiniband/mlx5_0/device/numa_node", "-1")
      .set("sys/class/infiniband/mlx5_0/device/local_cpus", "0000ffff")
    val devices = fixture.in { root =>
      link(root, s"$pci/host0/target/block/sda/device", "../..")
      link(root, s"$pci/net/eth0/device", "../..")
      link(root, "sys/block/sda", s"../../$pci/host0/target/block/sda")
      link(root, "sys/class/net/eth0", s"../../../$pci/net/eth0")
      TopologyReader.read(root, "fixture").devices
    }
    val node1 = IdSet.parse("4-7,12-15").toOption
    assert(
      devices == Vector(
        Device("eth0", DeviceKind.Network, Some(1), node1),
        Device("mlx5_0", DeviceKind.InfiniBand, None, IdSet.parse("0-15").toOption),
        Device("sda", DeviceKind.Block, Some(1), node1)
      )
    )
  }

  test("NVIDIA GPUs are devices on their nodes, unless one is divided") {
    val gpus = Vector("0000:3b:00.0" -> "0", "0000:af:00.0" -> "-1").foldLeft(Machines.twoNodes) {
      case (machine, (pci, node)) =>
        machine
          .set(s"proc/driver/nvidia/gpus/$pci/information", "Model: X")
          .set(s"sys/bus/pci/devices/$pci/numa_node", node)
    }
    assert(
      gpus.read().devices == Vector(
        Device("0000:3b:00.0", DeviceKind.Gpu, Some(0), None),
        Device("0000:af:00.0", DeviceKind.Gpu, None, None)
      )
    )
    val instance = "proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"
    assert(gpus.set(instance, "DeviceFileMinor: 3").read().devices.isEmpty)
  }

  test("a link out of a capture never shows the machine that reads it") {
    val t = Machines.twoNodes.without("proc/meminfo").without(Node).in { root =>
      Files.createSymbolicLink(root.resolve("proc"), Path.of("/proc"))
      Files.createSymbolicLink(
        root.resolve("sys/devices/system/node"),
        Path.of("/sys/devices/system/node")
      )
      TopologyReader.read(root, "fixture")
    }
    assert(t.nodes.map(_.memoryBytes) == Vector(0L))
  }

  test("the running machine is read, and this process may use what the kernel says") {
    val t = TopologyReader.live()
    val status = Files.readString(Path.of("/proc/self/status")).linesIterator.toVector
    val list = status.collectFirst { case s"Cpus_allowed_list:$ids" => ids.trim }.getOrElse("")
    assert(t.source == "live" && t.allowed.cpus.subsetOf(t.cpus))
    assert(IdSet.parse(list).exists(t.allowed.cpus.subsetOf))
    assert(t.nodes.map(_.memoryBytes).sum > 0 && t.architecture.nonEmpty)
  }

  test("a machine without sysfs is refused by name") {
    val error = intercept[UserError](Fixture(Map("proc/cpuinfo" -> "processor : 0\n")).read())
    assert(error.getMessage.contains("'fixture' contains no sysfs"))
  }

  private def link(root: Path, from: String, to: String): Unit = {
    val file = root.resolve(from)
    Files.createDirectories(file.getParent)
    Files.createSymbolicLink(file, Path.of(to))
    ()
  }

  test("a row of distances longer than the online nodes is read at the places of those nodes") {
    val rows = Vector("10 21 31", "22 10 32", "33 34 10")
    val three = Fixture(
      Vector.tabulate(6)(i => Fixture.CoreShape(0, i, IdSet(i))),
      Vector.tabulate(3)(i => Fixture.NodeShape(i, IdSet(2 * i, 2 * i + 1), 4 << 20))
    )
    val captured =
      rows.indices.foldLeft(three)((f, i) => f.set(s"${Fixture.Node}/node$i/distance", rows(i)))
    val gone = captured.offline(IdSet(0, 1)).set(s"${Fixture.Node}/online", "1-2")
    for (t <- Seq(gone, gone.without(s"${Fixture.Node}/node0")).map(_.read())) {
      assert(t.nodes.map(_.distances) == Vector(Map(1 -> 10, 2 -> 32), Map(1 -> 34, 2 -> 10)))
      assert(!t.warnings.exists(_.contains("distance")))
    }
  }

  test(
    "one CPU whose siblings contradict all others' is outvoted, with a warning, and no package is made of it"
  ) {
    val eight = Fixture(
      Vector.tabulate(8)(i => Fixture.CoreShape(i / 4, i, IdSet(i))),
      Vector.tabulate(2)(i => Fixture.NodeShape(i, IdSet.from(4 * i until 4 * i + 4), 4 << 20))
    )
    for (cpu <- Seq(0, 2, 7); wrong <- Seq(IdSet(cpu), IdSet.from(0 until 8), IdSet(cpu, 3, 4))) {
      val at = s"${Fixture.Cpu}/cpu$cpu/topology/package_cpus"
      val t = eight.set(at, Fixture.mask(wrong)).set(s"${at}_list", wrong.toString).read()
      assert(
        t.packages.map(_.cpus) == Vector(IdSet.from(0 until 4), IdSet.from(4 until 8)),
        s"$cpu $wrong"
      )
      assert(
        t.warnings.exists(w => w.contains(s"package of CPU $cpu") && w.contains("contradicts"))
      )
    }
  }
}
