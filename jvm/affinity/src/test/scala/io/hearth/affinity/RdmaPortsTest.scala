package io.hearth.affinity

import java.util.{BitSet, List => JList, Optional}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** Which RDMA ports UCX is told to use, by the device that communication threads are near to. */
class RdmaPortsTest extends AnyFunSuite {
  private val card0 = "sys/devices/pci0000:80/0000:80:02.0"
  private val links = Map(
    "sys/class/net/eth0/device" -> "sys/devices/pci0000:00/0000:00:03.0",
    "sys/class/net/ens1/device" -> card0,
    "sys/class/infiniband/mlx5_0/device" -> card0,
    "sys/class/infiniband/mlx5_1/device" -> "sys/devices/pci0000:80/0000:80:02.1"
  )
  private val lines = Map(
    "sys/class/infiniband/mlx5_0/ports/1/state" -> "1: DOWN",
    "sys/class/infiniband/mlx5_0/ports/2/state" -> "4: ACTIVE",
    "sys/class/infiniband/mlx5_1/ports/1/state" -> "1: DOWN",
    "sys/class/infiniband/rxe0/ports/1/state" -> "4: ACTIVE",
    "sys/class/infiniband/rxe0/parent" -> "eth1"
  )
  private object tree extends Tree {
    override def line(path: String): Optional[String] = lines.get(path).toJava
    override def names(directory: String): JList[String] = lines.keys
      .filter(_.startsWith(s"$directory/"))
      .map(_.drop(directory.length + 1).takeWhile(_ != '/'))
      .toVector
      .distinct
      .sorted
      .asJava
    override def resolved(path: String): Optional[String] = links.get(path).toJava
  }

  private def ports(lowest: String*): Vector[String] = RdmaPorts
    .of(tree, new NetworkDevice("chosen", "", lowest.asJava, new BitSet, new BitSet, ""))
    .asScala
    .toVector

  test("an adapter has its active ports, or all where none is active") {
    assert(ports("mlx5_0") == Vector("mlx5_0:2") && ports("mlx5_1") == Vector("mlx5_1:1"))
  }

  test("an interface has those of its card, also where RDMA is in software; below a bond, all") {
    assert(ports("ens1") == Vector("mlx5_0:2") && ports("eth1") == Vector("rxe0:1"))
    assert(ports("ens1", "eth1") == Vector("mlx5_0:2", "rxe0:1"))
  }

  test("an interface without RDMA has none, so that UCX chooses as without hearth") {
    assert(ports("eth0").isEmpty)
  }
}
