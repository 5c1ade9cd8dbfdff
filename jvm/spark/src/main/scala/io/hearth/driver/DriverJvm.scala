package io.hearth.driver

import java.io.File
import java.nio.file.{Files, Path}

import scala.util.Try

import io.hearth.core.procfs.ProcStat

/**
 * The JVM that the driver runs in, read once: nothing else asks the system for these.
 *
 * @param startTicks field 22 of `/proc/PID/stat`
 * @param machine its host name
 * @param environment the value of an environment variable
 * @param directory in which it was started
 * @param command its command line
 * @param parent that of the process which has started it; empty where it cannot be read
 * @param javaVersion the system property `java.vm.version`
 */
final case class DriverJvm(
    pid: Long,
    startTicks: Long,
    machine: String,
    environment: String => Option[String],
    userHome: String,
    javaHome: String,
    javaVersion: String,
    classPath: Vector[String],
    temporary: String,
    directory: Path,
    command: Vector[String],
    parent: Vector[String]
)

object DriverJvm {
  def here(): DriverJvm = DriverJvm(
    ProcessHandle.current.pid,
    ProcStat.read(Path.of("/proc/self")).fold(0L)(_.startTicks),
    RunRecord.thisMachine,
    name => Option(System.getenv(name)),
    System.getProperty("user.home"),
    System.getProperty("java.home"),
    System.getProperty("java.vm.version"),
    System.getProperty("java.class.path").split(File.pathSeparator).toVector,
    System.getProperty("java.io.tmpdir"),
    Path.of(System.getProperty("user.dir")),
    commandLine("self"),
    Try(commandLine(ProcessHandle.current.parent.get.pid.toString)).getOrElse(Vector.empty)
  )

  /** proc(5) */
  private def commandLine(process: String): Vector[String] =
    Files.readString(Path.of(s"/proc/$process/cmdline")).split('\u0000').toVector
}
