package io.hearth.core.topology

/**
 * Network, InfiniBand and block devices that are hardware (or a hypervisor's), and NVIDIA GPUs by
 * their PCI addresses, and where they are attached.
 */
final private[topology] class DeviceReader(tree: SysTree, online: IdSet, nodes: IdSet) {

  def read(): Vector[Device] =
    places.map { case (directory, name, place) =>
      device(name, DeviceReader.kindOf(directory), place)
    } ++ gpus.map(pci => device(pci, DeviceKind.Gpu, Some(s"sys/bus/pci/devices/$pci")))

  private def device(name: String, kind: DeviceKind, place: Option[String]): Device = {
    val node = place.flatMap(at => tree.int(s"$at/numa_node")).filter(nodes.contains)
    val cpus = place
      .flatMap(at => tree.list(s"$at/local_cpulist").orElse(tree.mask(s"$at/local_cpus")))
      .map(_ & online)
      .filter(_.nonEmpty)
    Device(name, kind, node, cpus)
  }

  /** None where one is divided (MIG): an application then counts its instances, each as a GPU. */
  private def gpus: Vector[String] = {
    val capabilities = "proc/driver/nvidia/capabilities"
    val divided = tree
      .names(capabilities)
      .exists(gpu => tree.names(s"$capabilities/$gpu/mig").exists(_.startsWith("gi")))
    if (divided) Vector.empty else tree.names("proc/driver/nvidia/gpus")
  }

  /** For each device its class directory, its name, and the directory that gives its place. */
  def places: Vector[(String, String, Option[String])] = for {
    directory <- directories
    name <- tree.names(directory)
    if !tree.exists(s"$directory/$name/partition")
    start <- hardware(s"$directory/$name").toVector
  } yield (directory, name, nearest(start))

  private def directories: Vector[String] =
    DeviceReader.Kinds.map(_._1).filter(_ != DeviceReader.BlockClass || !tree.exists("sys/block"))

  /** The directory of the device itself; `None` for software ones (loop, bridge), which have none. */
  private def hardware(path: String): Option[String] =
    tree.resolved(s"$path/device").filter(tree.exists)

  /**
   * The nearest ancestor that the kernel gives a node, else a place: a disk's is that of its PCI controller, and
   * `numa_node` is -1 where the firmware names only the bus.
   */
  private def nearest(path: String): Option[String] = {
    val upwards = Iterator.iterate(path)(at => at.take(math.max(at.lastIndexOf('/'), 0)))
    val placed = upwards
      .takeWhile(_.nonEmpty)
      .filter(at => DeviceReader.PlaceFiles.exists(file => tree.exists(s"$at/$file")))
      .toVector
    placed.find(at => tree.int(s"$at/numa_node").exists(nodes.contains)).orElse(placed.headOption)
  }
}

private[topology] object DeviceReader {

  /** Some captures have block devices only here, together with their partitions. */
  private val BlockClass = "sys/class/block"

  private val Kinds: Vector[(String, DeviceKind)] = Vector(
    "sys/class/net" -> DeviceKind.Network,
    "sys/class/infiniband" -> DeviceKind.InfiniBand,
    "sys/block" -> DeviceKind.Block,
    BlockClass -> DeviceKind.Block
  )

  private def kindOf(directory: String): DeviceKind = Kinds.toMap.apply(directory)

  val PlaceFiles: Vector[String] = Vector("numa_node", "local_cpulist", "local_cpus")
}
