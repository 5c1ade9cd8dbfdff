package io.hearth.core.topology

import scala.annotation.tailrec

/** Network, InfiniBand and block devices that are hardware (or a hypervisor's), and where they hang. */
final private[topology] class DeviceReader(tree: SysTree, online: IdSet, nodes: IdSet) {

  def read(): Vector[Device] = {
    val block = if (tree.exists("sys/block")) "sys/block" else "sys/class/block"
    in("sys/class/net", DeviceKind.Network) ++
      in("sys/class/infiniband", DeviceKind.InfiniBand) ++
      in(block, DeviceKind.Block).filterNot(d => tree.exists(s"$block/${d.name}/partition"))
  }

  private def in(directory: String, kind: DeviceKind): Vector[Device] = for {
    name <- tree.names(directory)
    start <- hardware(s"$directory/$name").toVector
  } yield {
    val place = nearest(start)
    val node = place.flatMap(at => tree.int(s"$at/numa_node")).filter(nodes.contains)
    val cpus = place
      .flatMap(at => tree.list(s"$at/local_cpulist").orElse(tree.mask(s"$at/local_cpus")))
      .map(_ & online)
      .filter(_.nonEmpty)
    Device(name, kind, node, cpus)
  }

  /** Where the device proper stands; `None` for software ones (loop, bridge), which have none. */
  private def hardware(path: String): Option[String] =
    tree.resolved(s"$path/device").filter(tree.exists)

  /** The nearest ancestor that the kernel gives a place: a disk's is that of its PCI controller. */
  @tailrec private def nearest(path: String): Option[String] =
    if (DeviceReader.PlaceFiles.exists(file => tree.exists(s"$path/$file"))) Some(path)
    else
      path.lastIndexOf('/') match {
        case -1 => None
        case at => nearest(path.take(at))
      }
}

private[topology] object DeviceReader {
  val PlaceFiles: Vector[String] = Vector("numa_node", "local_cpulist", "local_cpus")
}
