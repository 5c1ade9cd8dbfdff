package io.hearth.driver

import java.nio.file.Path

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.placement.{PlacementReport, PlacementSample, Subject}
import io.hearth.core.topology.IdSet

/** What the kernel says of processes. */
trait Kernel {

  /** Tells a process from a later one of the same id; 0 when it is gone. */
  def startTicks(pid: Long): Long

  /** Whether memory of what this process starts can come from no other nodes, whatever its policy. */
  def hasOnlyNodes(nodes: IdSet): Boolean

  /** A cheap look at where a process may run; absent when it is gone. */
  def sample(pid: Long): Option[PlacementSample]

  /** Where processes and their memory are; this costs more. */
  def placement(appId: String, subjects: Vector[Subject]): PlacementReport
}

/** @param root where procfs and sysfs are: `/` */
final class LiveKernel(root: Path) extends Kernel {
  override def startTicks(pid: Long): Long =
    PlacementReport.startTicks(root.resolve("proc"), pid).getOrElse(0L)
  override def hasOnlyNodes(nodes: IdSet): Boolean = LinuxScheduling.hasOnlyNodes(nodes)
  override def sample(pid: Long): Option[PlacementSample] = PlacementSample.at(pid)
  override def placement(appId: String, subjects: Vector[Subject]): PlacementReport =
    PlacementReport.take(root, appId, subjects)
}
