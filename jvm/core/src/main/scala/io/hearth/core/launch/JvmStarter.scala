package io.hearth.core.launch

import java.io.File
import java.nio.file.{Files, Path}
import java.util.concurrent.CompletableFuture

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.files.OwnFiles
import io.hearth.core.topology.IdSet

/** Starts the JVMs of executors. */
trait JvmStarter {

  /** Sees to it that JVMs can be started so. @throws io.hearth.core.UserError saying what is missing */
  def prepare(): Unit = ()

  /**
   * Starts one for an executor.
   *
   * @throws io.hearth.core.affinity.BindingRefused when the kernel refuses; no process was started
   * @throws java.io.IOException when the program cannot be started
   */
  def start(spec: LaunchSpec, executorId: String): Process

  /** Whether they see a directory of this machine. */
  def sees(directory: Path): Boolean = true

  /**
   * Lets an executor use these CPUs, where something besides the masks of its threads holds it.
   *
   * @throws java.io.IOException where that is refused
   */
  def allow(executorId: String, cpus: IdSet): Unit = ()

  /** Says what to do where the way in which JVMs are started has made a task fail. */
  def taskFailed(error: String): Unit = ()
}

/**
 * Starts processes with the CPU mask and the memory policy of their [[Binding]] in force before their
 * first instruction: a thread of its own takes both, starts the process, which inherits them, and ends.
 *
 * Each process leads a session of its own (`setsid`), so that Ctrl-C in the terminal reaches the driver
 * alone, which then stops its executors in order.
 */
object Processes extends JvmStarter {

  override def start(spec: LaunchSpec, executorId: String): Process = spec.binding match {
    case None => unbound(spec, spec.command)
    case Some(binding) => startBound(spec, binding)
  }

  private def startBound(spec: LaunchSpec, binding: Binding): Process = {
    val started = new CompletableFuture[Either[Throwable, Process]]()
    val thread = new Thread(
      () =>
        started.complete {
          try {
            LinuxScheduling.bindThreadToCpus(binding.cpus)
            if (binding.memoryNodes.nonEmpty)
              LinuxScheduling.bindThreadToNodes(binding.memoryNodes)
            Right(unbound(spec, spec.command))
          } catch {
            case e: Throwable => Left(e) // whatever it is: somebody waits for it
          }
        },
      "hearth-bound-launch"
    )
    thread.setDaemon(true)
    thread.start()
    started.get().fold(e => throw e, identity)
  }

  /** Starts a command with a spec's directory, environment and output, where this thread may run. */
  private[launch] def unbound(spec: LaunchSpec, command: Vector[String]): Process = {
    Files.createDirectories(spec.ownDirectory)
    spec.argumentFile.foreach(OwnFiles.write(_, spec.argumentText))
    Vector(spec.stdout, spec.stderr).filterNot(Files.exists(_)).foreach(OwnFiles.empty)
    val builder = new ProcessBuilder(("setsid" +: command): _*)
    builder.directory(spec.workDirectory.toFile)
    spec.environment.foreach { case (name, value) => builder.environment.put(name, value) }
    builder.redirectInput(new File("/dev/null"))
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(spec.stdout.toFile))
    builder.redirectError(ProcessBuilder.Redirect.appendTo(spec.stderr.toFile))
    builder.start()
  }
}
