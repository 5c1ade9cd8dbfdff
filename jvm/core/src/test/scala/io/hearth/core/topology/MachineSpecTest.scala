package io.hearth.core.topology

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError

class MachineSpecTest extends AnyFunSuite {
  private def spec(text: String) = MachineSpec.parse(text)

  test("the documented example is the POWER8 of the study: 192 threads, 512 GB") {
    val t = spec("2 packages, 4 nodes of 128 GB, 6 cores x 8 threads")
    assert(
      t.packages.size == 2 && t.nodes.size == 4 && t.cores.size == 24 && t.cpus.toString == "0-191"
    )
    assert(t.nodes.map(_.memoryBytes) == Vector.fill(4)(128L << 30))
    assert(t.nodes.forall(n => t.cores.count(_.cpus.subsetOf(n.cpus)) == 6))
    assert(t.packages.map(p => t.nodes.count(_.cpus.subsetOf(p.cpus))) == Vector(2, 2))
    assert(t.allowed == Allowed(t.cpus, IdSet(0, 1, 2, 3), None))
    assert(t.nodes.head.distances == Map(0 -> 10, 1 -> 20, 2 -> 20, 3 -> 20))
  }

  test("CPUs are numbered as Linux does: x86 by thread, POWER by core") {
    assert(
      spec("1 node of 8 GB, 2 cores x 2 threads, x86").cores.map(_.cpus.toString) ==
        Vector("0,2", "1,3")
    )
    val power = spec("power, 1 node of 8 GB, 2 cores x 4 threads")
    assert(power.cores.map(_.cpus.toString) == Vector("0-3", "4-7"))
    assert(power.architecture.contains("ppc64le"))
  }

  test("clauses go in any order, case and number, with or without blanks and commas") {
    val one = spec("2 packages, 4 nodes of 128 GB, 6 cores x 8 threads")
    for (
      other <- Vector(
        "6 Cores X 8 Threads; 4 NODES OF 128 gib 2 Sockets",
        "6cores x8 threads,2packages,4nodes of 128GB",
        "4 nodes of 0.125 TB\n6 core × 8 thread\n2 package,",
        "2 sockets, 4 nodes of 131072 MB, 6 cores * 8 threads"
      )
    ) assert(spec(other).copy(source = "") == one.copy(source = ""), other)
  }

  test("without nodes each package is one; without packages there is one") {
    val t = spec("2 sockets of 64 GB, 8 cores")
    assert(t.nodes.map(n => n.cpus.size -> n.memoryBytes) == Vector.fill(2)(8 -> (64L << 30)))
    assert(spec("2 nodes of 1 GB, 1 core").packages.size == 1)
    val spanning = spec("2 packages, 1 node of 8 GB, 4 cores")
    assert(spanning.packages.map(_.cpus.toString) == Vector("0-1", "2-3"))
  }

  test("the memory may be the whole machine's, and the cores each socket's") {
    val t = spec("2 packages, 4 nodes of 128 GB, 6 cores x 8 threads").copy(source = "")
    for (
      other <- Vector(
        "2 sockets, 4 nodes, 12 cores per socket x 8 threads, 512 GB",
        "512 GB RAM; 2 sockets; 4 nodes; 12 cores x 8 threads per socket",
        "4 nodes, 2 sockets, 6 cores per node x 8 threads, 0.5 TB"
      )
    ) assert(spec(other).copy(source = "") == t, other)
    assert(
      spec("2 sockets, 16 cores x 2 threads, 256 GB").nodes.map(_.memoryBytes) ==
        Vector.fill(2)(128L << 30)
    )
    def refusal(text: String) = intercept[UserError](spec(text)).getMessage
    assert(refusal("2 nodes of 1 GB, 1 core, 2 GB").contains("the memory is given twice"))
    assert(
      refusal("1 socket, 4 nodes, 6 cores per socket, 8 GB").contains("divided evenly among 4")
    )
    assert(refusal("1 node of 1 GB, 2 cores per rack").contains("where node or socket is expected"))
  }

  test("a network device is attached to a node; one on a node that is not there is refused") {
    val t = spec("2 nodes of 64 GB, 8 cores, mlx5_0 on node 1, eth0 on node 0")
    assert(t.devices.map(d => d.name -> d.node) == Vector("mlx5_0" -> Some(1), "eth0" -> Some(0)))
    def refusal(text: String) = intercept[UserError](spec(text)).getMessage
    assert(
      refusal("2 nodes of 1 GB, 1 core, eth0 on node 2").contains(
        "eth0 is on node 2, and the machine has nodes 0-1"
      )
    )
    assert(refusal("1 node of 1 GB, 1 core, eth0 on").contains("it ends where node is expected"))
  }

  test("distances: one for all, two by package, or the whole table") {
    val base = "2 packages, 4 nodes of 1 GB, 2 cores, "
    def row(text: String) = spec(base + text).nodes.head.distances.toVector.sorted.map(_._2)
    assert(row("distance 21") == Vector(10, 21, 21, 21))
    assert(row("distance 20 within package, 40 across") == Vector(10, 20, 40, 40))
    assert(row("distance 20 within package 40 across") == Vector(10, 20, 40, 40))
    val table = "distances 10 12 32 33 / 12 10 32 32/32 32 10 12/ 33 32 12 10"
    assert(row(table) == Vector(10, 12, 32, 33))
    assert(spec(table + ", " + base).nodes(3).distances(0) == 33)
  }

  test("memory-only nodes follow the others and have no CPU") {
    val t = spec("1 node of 8 GB, 2 memory-only nodes of 16 GB, 4 cores")
    assert(
      t.nodes.map(n => (n.id, n.cpus.toString, n.memoryBytes >> 30)) ==
        Vector((0, "0-3", 8), (1, "", 16), (2, "", 16))
    )
    assert(t.allowed.nodes.toString == "0-2" && t.nodes(2).distances.size == 3)
  }

  test("nodes may have numbers of their own, no memory, or be a GPU's") {
    val t = spec(
      "2 packages, nodes 0, 8 of 256 GB, nodes 4,12 without memory, 4 cores, gpu nodes 254-255 of 16 GB"
    )
    assert(
      t.nodes.map(n => (n.id, n.cpus.toString, n.memoryBytes >> 30, n.gpuMemory)) == Vector(
        (0, "0-3", 256, false),
        (4, "4-7", 0, false),
        (8, "8-11", 256, false),
        (12, "12-15", 0, false),
        (254, "", 16, true),
        (255, "", 16, true)
      )
    )
    assert(t.nodes.last.distances.keySet == Set(0, 4, 8, 12, 254, 255))
    assert(t.packages.map(_.cpus.toString) == Vector("0-7", "8-15"))
    val mixed = spec("2 nodes of 64 GB, 1 node of 32 GB, 1 node without memory, 1 core")
    assert(mixed.nodes.map(_.memoryBytes >> 30) == Vector(64, 64, 32, 0))
  }

  test("a node may have cores of two kinds") {
    val t = spec("1 socket of 64 GB, 2 cores x 2 threads, 4 efficient cores")
    assert(t.cores.map(_.cpus.toString) == Vector("0-1", "2-3", "4", "5", "6", "7"))
    assert(t.cores.map(_.efficient) == Vector(false, false, true, true, true, true))
    assert(t.cores.flatMap(_.kind).distinct == Vector("performance", "efficient"))
  }

  test("the CPUs of each node may be given, as on machines that number them in turn") {
    val t = spec("2 nodes of 8 GB, cpus 0,2,4,6 / 1,3,5,7, 2 cores x 2 threads, 2 packages")
    assert(t.nodes.map(_.cpus.toString) == Vector("0,2,4,6", "1,3,5,7"))
    assert(t.cores.map(_.cpus.toString) == Vector("0,4", "2,6", "1,5", "3,7"))
  }

  test("cores share a last-level cache in groups of the size given") {
    val t = spec("2 nodes of 8 GB, 8 cores x 2 threads, l3 of 4 cores")
    assert(t.caches.map(_.cpus.toString).take(2) == Vector("0-3,16-19", "4-7,20-23"))
    assert(t.caches.size == 4 && spec("1 node of 8 GB, 2 cores").caches.isEmpty)
  }

  test("what does not parse is refused by its word, with the grammar") {
    val wrong = Map(
      "2 pakages, 4 nodes of 1 GB, 2 cores" -> "the word 'pakages' is not understood",
      "4 nodes of 1 GB, 2 cores y 8 threads" -> "the word 'y' is not understood",
      "4 nodes of 1 PB, 2 cores" -> "the word 'pb' appears where MB, GB or TB is expected",
      "4 nodes of GB, 2 cores" -> "where MB, GB or TB is expected",
      "4 nodes of 1 GB, 2 cores x threads" -> "the word 'threads' appears where a number",
      "4 nodes of 1 GB, 2 cores x 8" -> "it ends where threads is expected",
      "0 nodes of 1 GB, 2 cores" -> "'0' appears where a number from 1",
      "2 nodes of 0 GB, 2 cores" -> "a size such as 128 GB",
      "4 nodes, 2 cores" -> "the memory is missing",
      "4 nodes of 1 GB" -> "the cores are missing",
      "" -> "the cores are missing",
      "4" -> "it ends too early",
      "2 packages, 2 packages, 2 nodes of 2 GB, 1 core" -> "is given twice",
      "nodes 0,2 of 1 GB, node 2 without memory, 1 core" -> "node 2 is given twice",
      "2 nodes without memory, 1 core" -> "no node has memory",
      "nodes of 1 GB, 1 core" -> "'of' appears where a number is expected",
      "2 nodes of 1 GB, 2 cores, cpus 0-1 / 1-2" -> "two nodes have the same CPU",
      "2 nodes of 1 GB, 2 cores, cpus 0-1" -> "the CPUs are 2: 2 nodes of 2 CPUs are described",
      "2 packages, 3 nodes of 1 GB, 1 core" -> "cannot be divided evenly among 2 packages",
      "2 nodes of 1 GB, 6 cores, l3 of 4 cores" -> "cannot be divided evenly into caches of 4",
      "2 nodes of 1 GB, 1 core, distances 10 20 / 20 10 / 20 20" -> "2 rows of 2 values are needed",
      "1024 nodes of 1 GB, 65 cores" -> "66560 CPUs exceed the 65536",
      "99999999999 nodes of 1 GB, 1 core" -> "appears where a number from 1 to 65536",
      "2 packages of 1 GB, 2 nodes, 1 core" -> "the memory is given with the packages",
      "1 node of 1 GB, 1 core, distance 20 within node" -> "'node' appears where package is expected",
      "1 node of 1 GB, 1 core, 1 memory-only node" -> "of SIZE"
    )
    for ((text, problem) <- wrong) {
      val message = intercept[UserError](spec(text)).getMessage
      assert(
        message.contains(problem) && message.contains("N packages") && !message.contains("\n"),
        text
      )
    }
  }
}
