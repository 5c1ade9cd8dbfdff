package io.hearth.spark

import io.hearth.core.launch.{BoundLauncher, Docker, LaunchSpec}

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
}

object JvmStarter {
  def of(launcher: Launcher, appId: String): JvmStarter = launcher match {
    case Launcher.AsProcess => Processes
    case Launcher.InContainer => new Containers(appId)
  }

  private object Processes extends JvmStarter {
    override def prepare(): Unit = ()
    override def start(spec: LaunchSpec, executorId: String): Process =
      BoundLauncher.start(spec)
  }

  private class Containers(appId: String) extends JvmStarter {
    override def prepare(): Unit = Docker.prepare()
    override def start(spec: LaunchSpec, executorId: String): Process =
      Docker.start(spec, Docker.containerName(s"hearth-$appId-$executorId"))
  }
}
