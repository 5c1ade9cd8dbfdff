package io.hearth.core.topology

import java.nio.file.Path

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.affinity.{Adapter, NetworkDevice, MachineReader}
import io.hearth.core.communication.CommunicationPlan
import io.hearth.core.testing.Temporary

/** Network devices as the kernel's files show them: what they are, where they are attached, which is chosen. */
class AdaptersTest extends AnyFunSuite {
  private val net = "sys/class/net"
  private val rdma = "sys/class/infiniband"

  /** An interface with a device of its own. */
  private def card(name: String, node: Int, speed: Int = 10000, state: String = "up") =
    (f: Fixture) =>
      f.set(s"$net/$name/type", "1")
        .set(s"$net/$name/operstate", state)
        .set(s"$net/$name/speed", speed.toString)
        .set(s"$net/$name/device/numa_node", node.toString)
        .set(s"$net/$name/device/local_cpulist", "0-15")

  private def over(name: String, below: String*) = (f: Fixture) =>
    below.foldLeft(f.set(s"$net/$name/type", "1").set(s"$net/$name/operstate", "up"))((g, lower) =>
      g.set(s"$net/$name/lower_$lower/type", "1")
    )

  private def route(name: String, metric: Int = 0) =
    s"$name 00000000 01020304 0003 0 0 $metric 00000000"

  private def machine(steps: (Fixture => Fixture)*): Fixture =
    steps.foldLeft(Machines.twoNodes)((fixture, step) => step(fixture))

  private def adapters(fixture: Fixture): Vector[Adapter] =
    fixture.in(root => TopologyReader.adapters(Some(root.toString), fixture.read()))

  private def chosen(
      fixture: Fixture,
      device: Option[String] = None,
      carrier: Option[String] = None
  ) =
    NetworkDevice
      .choose(
        CommunicationPlan.machine(fixture.read(), adapters(fixture)),
        device.toJava,
        carrier.toJava
      )
      .toScala

  test(
    "the user's choice comes first, then the peer's route, the default route, the fastest that is up"
  ) {
    val both = machine(card("eth0", 0), card("eth1", 1, 100000), card("eth2", 1, 400000, "down"))
    val routed = both.set("proc/net/route", s"${route("eth1", 200)}\n${route("eth0", 100)}")
    def name(f: Fixture, device: Option[String] = None, carrier: Option[String] = None) =
      chosen(f, device, carrier).map(_.name)
    assert(name(routed, Some("eth2"), Some("eth1")).contains("eth2"))
    assert(name(routed, None, Some("eth1")).contains("eth1"))
    assert(name(routed).contains("eth0"))
    val slower = machine(card("eth0", 0, 100000), card("eth1", 1))
    for (routes <- Vector(route("eth0", 200), route("eth1", 100)).permutations)
      assert(name(slower.set("proc/net/route", routes.mkString("\n"))).contains("eth1"))
    assert(name(both).contains("eth1"))
    assert(name(Machines.twoNodes).isEmpty)
  }

  test("a bond, a VLAN on it and a bridge over that lead to the cards below") {
    val stacked = machine(
      card("eth0", 1),
      card("eth1", 1),
      over("bond0", "eth0", "eth1"),
      over("bond0.7", "bond0"),
      over("br0", "bond0.7", "veth1")
    )
    val device = chosen(stacked, Some("br0")).getOrElse(fail("no device"))
    assert(device.lowest.asScala == Vector("eth0", "eth1") && device.nodes.toString == "{1}")
    val spread = chosen(machine(card("eth0", 0), card("eth1", 1), over("bond0", "eth0", "eth1")))
    assert(spread.exists(_.name == "eth0"))
    val ring = machine(over("a", "b"), over("b", "a"))
    assert(chosen(ring, Some("a")).exists(!_.placed))
  }

  test(
    "a device whose node is -1 has that of the bus above it; where none says so its place is unknown"
  ) {
    val bus = "sys/devices/pci0000:80/0000:80:02.0"
    def linked(f: Fixture)(use: Vector[Adapter] => Any) = f.in { root =>
      val link = root.resolve(s"$net/eth0/device")
      java.nio.file.Files.createDirectories(link.getParent)
      java.nio.file.Files.createSymbolicLink(link, Path.of(s"../../../../$bus/0000:81:00.0"))
      use(TopologyReader.adapters(Some(root.toString), f.read()))
    }
    val lost = Machines.twoNodes
      .set(s"$bus/0000:81:00.0/numa_node", "-1")
      .set(s"$bus/0000:81:00.0/local_cpulist", "0-15")
    def locality(found: Vector[Adapter]) = found.head.locality.toScala
    linked(lost)(found => assert(locality(found).isEmpty))
    linked(lost.set(s"$bus/numa_node", "1")) { found =>
      assert(locality(found).exists(_.nodes.toString == "{1}"))
      assert(locality(found).exists(_.source == "numa_node of the bus above, 0000:80:02.0"))
    }
    val byRoot = lost.set("sys/devices/pci0000:80/pci_bus/0000:80/cpulistaffinity", "4-7,12-15")
    linked(byRoot)(found =>
      assert(locality(found).exists(_.cpus == IdSet.parse("4-7,12-15").fold(fail(_), _.toBitSet)))
    )
  }

  test(
    "InfiniBand and RoCE adapters are told apart, with their speed and whether a port is active"
  ) {
    def port(f: Fixture, name: String, layer: String, state: String) = f
      .set(s"$rdma/$name/device/numa_node", "1")
      .set(s"$rdma/$name/ports/1/link_layer", layer)
      .set(s"$rdma/$name/ports/1/state", state)
      .set(s"$rdma/$name/ports/1/rate", "100 Gb/sec (4X EDR)")
    val f = port(
      port(Machines.twoNodes, "mlx5_0", "InfiniBand", "4: ACTIVE"),
      "mlx5_1",
      "Ethernet",
      "1: DOWN"
    )
    val found = adapters(f)
    assert(
      found.map(a => (a.name, a.kind, a.up.get)) ==
        Vector(("mlx5_0", "InfiniBand", true), ("mlx5_1", "RoCE", false))
    )
    assert(found.forall(_.speedMbps.getAsLong == 100000))
    assert(chosen(f).exists(d => d.name == "mlx5_0" && d.nodes.toString == "{1}"))
  }

  test("a capture has the same network devices as its machine, and no address") {
    val f =
      machine(card("eth0", 1), card("enx001122334455", 0), over("bond0", "eth0", "enx001122334455"))
        .set("proc/net/route", s"${route("bond0")}\neth0 0002A8C0 00000000 0001 0 0 100 00FFFFFF")
    f.in { root =>
      Temporary.directory { directory =>
        val capture =
          new Gatherer(root).write(directory.resolve("m.tar.gz"), force = false).output.toString
        val read = TopologyReader.adapters(Some(capture), TopologyReader.load(Some(capture)))
        assert(read.map(_.name) == Vector("bond0", "enx-0", "eth0"))
        assert(read.head.defaultRoute && read.head.below.asScala.toSet == Set("enx-0", "eth0"))
        val own = TopologyReader.adapters(Some(root.toString), f.read()).map(_.locality).toSet
        assert(read.map(_.locality).toSet == own)
        val unpacked = directory.resolve("u")
        java.nio.file.Files.createDirectory(unpacked)
        io.hearth.core.testing.Child.run(Vector("tar", "-xf", capture, "-C", unpacked.toString))
        val text = java.nio.file.Files.readString(unpacked.resolve("machine/proc/net/route"))
        assert(text == "bond0 00000000 00000000 0003 0 0 0 00000000\n")
      }
    }
  }

  /** Those without lists of CPUs, with firmware that contradicts itself, or without NUMA: hearth mends them. */
  private val mended = Set("an old kernel", "overlapping nodes", "no NUMA")

  for ((name, fixture) <- Machines.small if !mended(name))
    test(s"the agent's own reader sees the same machine: $name") {
      val topology = fixture.read()
      val tree = new SysTree(fixture.tree, new Warnings).asTree
      val read = new MachineReader(tree).read(topology.allowed.cpus.toBitSet)
      val expected = CommunicationPlan.machine(topology, Vector.empty)
      assert(read.allowed == expected.allowed)
      assert(read.cores.asScala.toSet == expected.cores.asScala.toSet)
      assert(read.nodes == expected.nodes)
    }
}
