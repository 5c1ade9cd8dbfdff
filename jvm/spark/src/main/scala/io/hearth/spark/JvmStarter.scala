package io.hearth.spark

import io.hearth.core.launch.{BoundLauncher, LaunchSpec}

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

  /** Says what to do where the way in which JVMs are started has made a task fail. */
  def taskFailed(error: String): Unit
}

object Processes extends JvmStarter {
  override def prepare(): Unit = ()
  override def start(spec: LaunchSpec, executorId: String): Process = BoundLauncher.start(spec)
  override def taskFailed(error: String): Unit = ()
}
