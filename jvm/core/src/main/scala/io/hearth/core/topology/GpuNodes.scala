package io.hearth.core.topology

/**
 * The NUMA node that a GPU is attached to, by the address under which a discovery script of Spark knows it: its
 * PCI address, its UUID, or its number as `nvidia-smi` prints it, which follows the PCI addresses.
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-pci (numa_node); README of the NVIDIA Linux driver, "The
 * /proc/driver/nvidia interface". The numbers of other vendors are unknown.
 */
final class GpuNodes(tree: SysTree) {

  /** @return absent where the kernel does not say */
  def nodeOf(address: String): Option[Int] =
    pciAddress(address.trim).flatMap(pci =>
      tree.int(s"sys/bus/pci/devices/$pci/numa_node").filter(_ >= 0)
    )

  private def pciAddress(address: String): Option[String] =
    if (address.matches(GpuNodes.Pci)) Some(address.toLowerCase.takeRight(12))
    else if (address.matches("[0-9]{1,3}")) nvidia.lift(address.toInt)
    else
      nvidia.find(pci =>
        tree.text(s"$Nvidia/$pci/information").exists(_.linesIterator.exists(namesUuid(_, address)))
      )

  private def namesUuid(line: String, address: String): Boolean =
    line.startsWith("GPU UUID:") && line.drop("GPU UUID:".length).trim == address

  private val Nvidia = "proc/driver/nvidia/gpus"

  private lazy val nvidia: Vector[String] = tree.names(Nvidia)
}

private object GpuNodes {

  /** `0000:3b:00.0`; some tools write the domain with eight digits. */
  val Pci: String = "([0-9a-fA-F]{4})?[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]"
}
