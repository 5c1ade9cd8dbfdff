package io.hearth.core.launch

import java.nio.file.Path

import io.hearth.core.topology.IdSet

/**
 * A JVM to start, as plain values; [[LaunchSpec.command]] is exactly what runs.
 *
 * @param java the java executable
 * @param environment variables set on top of the launching process's own
 * @param workDirectory where it starts; may be the user's, so nothing is made or written there
 * @param ownDirectory a directory of this JVM's alone, made where it is missing
 * @param privateOptions JVM options that no other user may see, behind the others
 * @param binding where it runs; absent when it is not bound
 * @param gpus numbers or UUIDs of those that its container has; a process sees all
 */
final case class LaunchSpec(
    java: String,
    javaOptions: Vector[String],
    classPath: Vector[String],
    mainClass: String,
    arguments: Vector[String],
    environment: Map[String, String],
    workDirectory: Path,
    ownDirectory: Path,
    stdout: Path,
    stderr: Path,
    binding: Option[Binding],
    privateOptions: Vector[String] = Vector.empty,
    gpus: Vector[String] = Vector.empty
) {

  /**
   * A file with the private options: every user can read a command line (java(1), "argument
   * files").
   */
  def argumentFile: Option[Path] =
    Option.when(privateOptions.nonEmpty)(ownDirectory.resolve(".java-options"))

  private[launch] def argumentText: String =
    privateOptions.map(o => "\"" + o.flatMap(LaunchSpec.quoted) + "\"\n").mkString

  def command: Vector[String] =
    Vector(java) ++ javaOptions ++ argumentFile.map(file => s"@$file") ++ Vector(
      "-cp",
      classPath.mkString(":"),
      mainClass
    ) ++ arguments
}

object LaunchSpec {
  private val quoted: Char => String = {
    case '\\' => "\\\\"
    case '"' => "\\\""
    case '\n' => "\\n"
    case other => other.toString
  }
}

/**
 * @param cpus CPU mask
 * @param memoryNodes nodes of the memory policy `bind`; empty where memory is not bound
 */
final case class Binding(cpus: IdSet, memoryNodes: IdSet)
