package io.hearth.core.topology

import io.hearth.core.topology.Fixture.{Cpu, CoreShape, Node, NodeShape}

/** Machines of awkward shapes, after what is found in the field. */
object Machines {
  private val Gigabyte = 1L << 20

  /** Two packages of four cores with two threads each, numbered as on x86; a node for each package. */
  val twoNodes: Fixture = Fixture(
    Vector.tabulate(8)(i => CoreShape(i / 4, i % 4, IdSet(i, i + 8))),
    Vector.tabulate(2)(n =>
      NodeShape(n, ids(n * 4 to n * 4 + 3) | ids(n * 4 + 8 to n * 4 + 11), 64 * Gigabyte)
    )
  )

  /** POWER8 in SMT2 mode: eight threads a core, of which two are online; nodes 0 and 8. */
  val powerWithSmtGaps: Fixture = {
    val cores = Vector.tabulate(8)(i => CoreShape(i / 4 * 8, i * 8, ids(i * 8 to i * 8 + 7)))
    val nodes =
      Vector(NodeShape(0, ids(0 to 31), 64 * Gigabyte), NodeShape(8, ids(32 to 63), 64 * Gigabyte))
    Fixture(cores, nodes)
      .offline(IdSet.from((0 until 64).filter(_ % 8 >= 2)))
      .set("proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER8E (raw), altivec supported")
  }

  /** POWER9 with the memory of six GPUs as nodes 250 to 255. */
  val powerWithGpuMemory: Fixture = {
    val cores = Vector.tabulate(8)(i => CoreShape(i / 4 * 8, i * 4, ids(i * 4 to i * 4 + 3)))
    val gpus = Vector.tabulate(6)(g => NodeShape(250 + g, IdSet.empty, 16 * Gigabyte))
    Fixture(
      cores,
      Vector(
        NodeShape(0, ids(0 to 15), 256 * Gigabyte),
        NodeShape(8, ids(16 to 31), 256 * Gigabyte)
      ) ++ gpus
    )
  }

  /** The same with NVIDIA's driver loaded, which tells what those nodes are. */
  val powerWithGpuDriver: Fixture = (250 to 255).foldLeft(powerWithGpuMemory) { (f, node) =>
    f.set(
      s"proc/driver/nvidia/gpus/0004:0${node - 246}:00.0/numa_status",
      s"Node:          $node\nStatus:        online"
    )
  }

  /** Nodes 1, 2 and 5 of 0 to 7; CPUs 2 to 13 without 5; CPU 7 offline; node 5 without memory. */
  val sparse: Fixture = Fixture(
    (2 to 13).filter(_ != 5).map(c => CoreShape(c / 8, c, IdSet(c))).toVector,
    Vector(
      NodeShape(1, ids(2 to 7) &~ IdSet(5), 8 * Gigabyte),
      NodeShape(2, ids(8 to 11), 8 * Gigabyte),
      NodeShape(5, ids(12 to 13), 0)
    )
  ).set(s"$Node/possible", "0-7").offline(IdSet(7))

  /** 1,536 CPUs on 96 nodes. */
  val large: Fixture = masksOnly(
    Fixture(
      Vector.tabulate(768)(i => CoreShape(i / 16, i % 16, IdSet(2 * i, 2 * i + 1))),
      Vector.tabulate(96)(n => NodeShape(n, ids(n * 16 to n * 16 + 15), Gigabyte))
    )
  )

  /** As Linux 2.6.16 had it: masks only, no lists of what is online, a file for each CPU. */
  val oldKernel: Fixture = {
    val later = Vector("core_cpus", "package_cpus", "core_cpus_list", "package_cpus_list") ++
      Vector("core_siblings_list", "thread_siblings_list")
    val masks = twoNodes
      .without(for (cpu <- 0 until 16; name <- later) yield s"$Cpu/cpu$cpu/topology/$name")
      .without(Vector(s"$Cpu/online", s"$Cpu/possible", s"$Node/online", s"$Node/possible"))
      .without(Vector(s"$Node/node0/cpulist", s"$Node/node1/cpulist"))
    (0 until 16).foldLeft(masks)((f, cpu) =>
      f.set(s"$Cpu/cpu$cpu/online", if (cpu == 3) "0" else "1")
    )
  }

  /** Firmware that gives both nodes the CPUs 0 to 3. */
  val overlappingNodes: Fixture = twoNodes
    .set(s"$Node/node1/cpumap", "0000ff0f")
    .set(s"$Node/node1/cpulist", "0-3,8-15")

  /** A kernel without NUMA. */
  val noNuma: Fixture = twoNodes.without(Node)

  /** Package ids of -1, as some virtual and Arm machines have them. */
  val noPackageIds: Fixture =
    (0 until 16).foldLeft(twoNodes)((f, c) =>
      f.set(s"$Cpu/cpu$c/topology/physical_package_id", "-1")
    )

  /** The cpuset of the batch system leaves out CPU 0 and node 0. */
  val cpusetWithoutCpu0: Fixture = twoNodes
    .set("proc/mounts", "none /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0")
    .set("proc/self/cpuset", "/batch/job 17")
    .set("dev/cpuset/cpus", "0-15")
    .set("dev/cpuset/mems", "0-1")
    .set("dev/cpuset/batch/job 17/cpus", "4-6,12-14")
    .set("dev/cpuset/batch/job 17/mems", "1")

  /** Groups in groups, version 2: the innermost has no cpuset of its own, so its parent's holds. */
  val nestedCgroup2: Fixture = twoNodes
    .set("proc/self/cpuset", "/kube/pod")
    .cgroup2(
      "/kube/pod/container",
      "/cpuset.cpus.effective" -> "0-15",
      "/cpuset.mems.effective" -> "0-1",
      "/kube/cpuset.cpus.effective" -> "1-7,9-15",
      "/kube/cpuset.mems.effective" -> "0-1",
      "/kube/memory.max" -> "34359738368",
      "/kube/pod/cpuset.cpus.effective" -> "1-3,9-11",
      "/kube/pod/cpuset.mems.effective" -> "0",
      "/kube/pod/memory.max" -> "8589934592",
      "/kube/pod/container/memory.max" -> "max"
    )

  val small: Map[String, Fixture] = Map(
    "two nodes" -> twoNodes,
    "POWER with SMT gaps" -> powerWithSmtGaps,
    "POWER with GPU memory" -> powerWithGpuMemory,
    "sparse and offline ids" -> sparse,
    "an old kernel" -> oldKernel,
    "overlapping nodes" -> overlappingNodes,
    "no NUMA" -> noNuma,
    "no package ids" -> noPackageIds,
    "a cpuset without CPU 0" -> cpusetWithoutCpu0,
    "nested version 2 groups" -> nestedCgroup2
  )

  val all: Map[String, Fixture] = small + ("1,536 CPUs on 96 nodes" -> large)

  /** Fewer files to write. */
  private def masksOnly(fixture: Fixture): Fixture =
    Fixture(fixture.files.filterNot(_._1.endsWith("_list")))

  private def ids(range: Range): IdSet = IdSet.from(range)
}
