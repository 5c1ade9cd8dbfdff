package io.hearth.core.testing

import java.nio.file.Path

import io.hearth.core.launch.LaunchSpec

/** Processes to launch. */
object Specs {

  /** A shell in the stead of a JVM, bound to nothing. */
  def shell(directory: Path, script: String): LaunchSpec = LaunchSpec(
    java = "sh",
    javaOptions = Vector("-c", script),
    classPath = Vector("unused"),
    mainClass = "unused",
    arguments = Vector.empty,
    environment = Map.empty,
    workDirectory = directory,
    ownDirectory = directory,
    stdout = directory.resolve("stdout"),
    stderr = directory.resolve("stderr"),
    binding = None
  )
}
