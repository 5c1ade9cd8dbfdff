package io.hearth.binding

import java.nio.file.Path

import io.hearth.core.affinity.{LinuxScheduling, NativeCode}
import io.hearth.core.placement.ProcessPlacement
import io.hearth.core.topology.IdSet

/** This process, as the kernel has it. */
trait OwnProcess {

  /** Why no system call can be made from here. */
  def problem: Option[String]

  /** All threads. @throws io.hearth.core.affinity.BindingRefused */
  def bindCpus(cpus: IdSet): Unit

  /** What the calling thread, and those that it starts, touch from now on. @throws io.hearth.core.affinity.BindingRefused */
  def bindMemory(nodes: IdSet): Unit

  /** @return the pages that stay. @throws io.hearth.core.affinity.BindingRefused */
  def moveMemory(from: IdSet, to: IdSet): Long

  /** Where it is. */
  def placement(): Either[String, ProcessPlacement]
}

object LiveProcess extends OwnProcess {
  override def problem: Option[String] = NativeCode.problem
  override def bindCpus(cpus: IdSet): Unit = LinuxScheduling.bindProcessToCpus(cpus)
  override def bindMemory(nodes: IdSet): Unit = LinuxScheduling.confineThreadToNodes(nodes)
  override def moveMemory(from: IdSet, to: IdSet): Long = LinuxScheduling.movePages(from, to)
  override def placement(): Either[String, ProcessPlacement] = ProcessPlacement
    .read(Path.of("/"), ProcessHandle.current.pid)
    .getOrElse(Left("/proc does not show this process"))
}
