package io.hearth.core.placement

import java.nio.file.{Files, NoSuchFileException, Path}

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.launch.Binding
import io.hearth.core.procfs.ProcFs
import io.hearth.core.topology.IdSet

/**
 * A cheap look at a process of this machine: a system call for each thread and one small file, where a
 * whole [[ProcessPlacement]] reads two files for each thread and walks the page tables (`numa_maps`).
 *
 * @param masks number of threads under each mask of CPUs; the kernel leaves CPUs that are offline out
 * @param memsAllowed the cpuset's memory nodes
 */
final case class PlacementSample(masks: Map[IdSet, Int], memsAllowed: IdSet) {

  /**
   * How the process deviates from its place; equal as long as nothing changes.
   *
   * @param lent CPUs of other places that it may use for a while
   */
  def deviations(expected: Binding, lent: IdSet = IdSet.empty): Set[String] = {
    val open = expected.cpus | lent
    val (inside, outside) = masks.partition { case (mask, _) => mask.subsetOf(open) }
    val strays = outside.valuesIterator.sum
    val short = PlacementCheck.leftShort(expected.cpus, inside)
    val share = if (strays * 2 > masks.valuesIterator.sum) "most" else "some"
    Set.empty[String] ++
      Option.when(strays > 0)(s"$share threads elsewhere") ++
      Option.when(inside.nonEmpty && short.nonEmpty)(s"CPUs $short abandoned") ++
      PlacementCheck.nodesDrift(expected, memsAllowed).map(_.kind)
  }
}

object PlacementSample {

  /** @return absent when the process is gone */
  def at(pid: Long): Option[PlacementSample] = {
    val process = Path.of(s"/proc/$pid")
    try {
      val masks =
        ProcFs
          .existingIds(process.resolve("task"))
          .flatMap(tid => LinuxScheduling.cpusOf(tid.toInt))
      val mems = ProcessPlacement.memsAllowed(Files.readString(process.resolve("status")))
      Option.when(masks.nonEmpty)(
        PlacementSample(masks.groupMapReduce(identity)(_ => 1)(_ + _), mems)
      )
    } catch { case _: NoSuchFileException => None }
  }
}
