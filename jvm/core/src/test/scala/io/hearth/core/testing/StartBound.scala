package io.hearth.core.testing

import java.nio.file.{Files, Path}

import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.launch.{Binding, Processes}
import io.hearth.core.topology.IdSet

/**
 * Starts a shell that tells its CPUs and its memory policy, bound to the last CPU and to memory nodes, and
 * prints what it said, or why it was not started.
 *
 * Arguments: a directory, memory nodes (none: memory is not bound), and anything where CPU 0 is to do.
 */
object StartBound {
  def main(args: Array[String]): Unit = {
    val directory = Path.of(args(0))
    val nodes = IdSet.parse(args(1)).getOrElse(IdSet.empty)
    val spec = Specs.shell(
      directory,
      "grep Cpus_allowed_list /proc/self/status; head -1 /proc/self/numa_maps"
    )
    try {
      val cpus = if (args.length > 2) IdSet(0) else IdSet(LinuxScheduling.cpusOfThread().last)
      val process = Processes.start(spec.copy(binding = Some(Binding(cpus, nodes))), "1")
      process.waitFor()
      println(Files.readString(spec.stdout))
    } catch { case e: Throwable => println(s"${e.getClass.getSimpleName}: ${e.getMessage}") }
    println(s"only these nodes: ${LinuxScheduling.hasOnlyNodes(nodes)}")
  }
}
