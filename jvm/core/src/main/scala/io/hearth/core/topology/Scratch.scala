package io.hearth.core.topology

import java.io.IOException
import java.nio.file.{Files, Path}

/** A file system in memory (tmpfs) that shuffle files may use, and what fits in it. */
final case class Scratch(path: String, freeMb: Long)

object Scratch {
  private val SharedMemory = "/dev/shm"

  /**
   * What Linux makes by default: half of the memory (Documentation/filesystems/tmpfs.rst). None for
   * the live machine, where it must be checked: a container usually has 64 MB.
   */
  def assumed(topology: Topology): Option[Scratch] = Option.unless(topology.source == "live") {
    Scratch(SharedMemory, topology.nodes.iterator.map(_.memoryBytes >> 20).sum / 2)
  }

  /** The running machine's, as it is now; None where it has no writable one. */
  def live(): Option[Scratch] = {
    val directory = Path.of(SharedMemory)
    if (!Files.isDirectory(directory) || !Files.isWritable(directory)) None
    else
      try {
        val store = Files.getFileStore(directory)
        Option.when(store.`type` == "tmpfs")(Scratch(SharedMemory, store.getUsableSpace >> 20))
      } catch {
        // What cannot be read is not offered; the plan then says that it left the setting alone.
        case _: IOException => None
      }
  }
}
