package io.hearth.spark

import java.nio.file.Path

import io.hearth.core.placement.{Glance, PlacementReport, Subject}

/** What the kernel says of processes. */
trait Kernel {

  /** Tells a process from a later one of the same id; 0 when it is gone. */
  def startTicks(pid: Long): Long

  /** A cheap look at where a process may run; absent when it is gone. */
  def glance(pid: Long): Option[Glance]

  /** Where processes and their memory are; this costs more. */
  def placement(appId: String, subjects: Vector[Subject]): PlacementReport
}

/** @param root where procfs and sysfs are: `/` */
final class LiveKernel(root: Path) extends Kernel {
  override def startTicks(pid: Long): Long =
    PlacementReport.startTicks(root.resolve("proc"), pid).getOrElse(0L)
  override def glance(pid: Long): Option[Glance] = Glance.at(pid)
  override def placement(appId: String, subjects: Vector[Subject]): PlacementReport =
    PlacementReport.take(root, appId, subjects)
}
