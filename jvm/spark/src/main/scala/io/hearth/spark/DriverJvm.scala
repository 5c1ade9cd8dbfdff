package io.hearth.spark

import java.io.File

/**
 * The JVM that the driver runs in, read once: nothing else asks the system for these.
 *
 * @param environment the value of an environment variable
 * @param javaVersion the system property `java.vm.version`
 */
final case class DriverJvm(
    pid: Long,
    environment: String => Option[String],
    userHome: String,
    javaHome: String,
    javaVersion: String,
    classPath: Vector[String],
    temporary: String
)

object DriverJvm {
  def here(): DriverJvm = DriverJvm(
    ProcessHandle.current.pid,
    name => Option(System.getenv(name)),
    System.getProperty("user.home"),
    System.getProperty("java.home"),
    System.getProperty("java.vm.version"),
    System.getProperty("java.class.path").split(File.pathSeparator).toVector,
    System.getProperty("java.io.tmpdir")
  )
}
