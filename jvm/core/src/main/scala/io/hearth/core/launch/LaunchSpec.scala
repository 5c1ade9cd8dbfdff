package io.hearth.core.launch

import java.nio.file.Path

import io.hearth.core.topology.IdSet

/**
 * A JVM to start, as plain values; [[LaunchSpec.command]] is exactly what runs.
 *
 * A launch is composed of steps `LaunchSpec => LaunchSpec`; no step drops what an earlier one set.
 *
 * @param java the java executable
 * @param environment variables set on top of the launching process's own
 * @param binding where it runs; absent when it is not bound
 */
final case class LaunchSpec(
    java: String,
    javaOptions: Vector[String],
    classPath: Vector[String],
    mainClass: String,
    arguments: Vector[String],
    environment: Map[String, String],
    workDirectory: Path,
    stdout: Path,
    stderr: Path,
    binding: Option[Binding]
) {

  def command: Vector[String] =
    Vector(java) ++ javaOptions ++ Vector("-cp", classPath.mkString(":"), mainClass) ++ arguments
}

/** @param cpus CPU mask @param memoryNodes nodes of the memory policy `bind` */
final case class Binding(cpus: IdSet, memoryNodes: IdSet)
