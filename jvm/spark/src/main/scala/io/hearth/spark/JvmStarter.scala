package io.hearth.spark

import java.nio.file.Path

import io.hearth.core.launch.{BoundLauncher, LaunchSpec}
import io.hearth.core.topology.IdSet

/** Starts the JVMs of executors. */
trait JvmStarter {

  /** Sees to it that JVMs can be started so. @throws io.hearth.core.UserError saying what is missing */
  def prepare(): Unit

  /**
   * Starts one for an executor.
   *
   * @throws io.hearth.core.affinity.BindingRefused when the kernel refuses; nothing was started
   */
  def start(spec: LaunchSpec, executorId: String): Process

  /** Whether they see a directory of this machine. */
  def sees(directory: Path): Boolean

  /**
   * Lets an executor use these CPUs, where something besides the masks of its threads holds it.
   *
   * @throws java.io.IOException where that is refused
   */
  def allow(executorId: String, cpus: IdSet): Unit

  /** Says what to do where the way in which JVMs are started has made a task fail. */
  def taskFailed(error: String): Unit
}

object Processes extends JvmStarter {
  override def prepare(): Unit = ()
  override def start(spec: LaunchSpec, executorId: String): Process = BoundLauncher.start(spec)
  override def sees(directory: Path): Boolean = true
  override def allow(executorId: String, cpus: IdSet): Unit = ()
  override def taskFailed(error: String): Unit = ()
}
