package io.hearth.binding

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import scala.util.Try

import com.sun.management.HotSpotDiagnosticMXBean

import io.hearth.core.topology.{IdSet, Neighbours, Topology, TopologyReader}

/**
 * What an executor that somebody else has started knows of itself and its machine, before anything is bound.
 *
 * @param topology the machine; `allowed` is what this process may use of it
 * @param cores task slots; absent where nothing tells
 * @param settings Spark's
 * @param neighbours executors of hearth's that run here already
 * @param ownProcesses whether it is in a container, which has processes and files of its own
 */
final case class ExecutorView(
    topology: Topology,
    cores: Option[Int],
    jvm: OwnJvm,
    settings: Map[String, String],
    neighbours: Neighbours,
    ownProcesses: Boolean
) {
  def cpus: IdSet = topology.allowed.cpus & topology.cpus

  /** The memory nodes whose CPUs these are; all that may be used, where they have no memory. */
  def nodesOf(cpus: IdSet): IdSet = {
    val nodes = topology.nodes.filter(n => n.cpus.intersects(cpus) && n.memoryBytes > 0).map(_.id)
    val allowed = IdSet.from(nodes) & topology.allowed.nodes
    if (allowed.nonEmpty) allowed else topology.allowed.nodes
  }
}

/**
 * What this JVM fixed when it started.
 *
 * @param collectorThreads absent where it does not say
 * @param useNuma whether it spreads its heap over the memory nodes itself
 */
final case class OwnJvm(heapMb: Long, collectorThreads: Option[Int], useNuma: Boolean)

object ExecutorView {

  /** @param settings Spark's, of this executor */
  def here(settings: Map[String, String]): ExecutorView = ExecutorView(
    TopologyReader.live(),
    coresOf(sys.props.getOrElse("sun.java.command", ""), settings),
    jvm(),
    settings,
    // Others' memory counts by their leases: this executor has its own already.
    Neighbours.running(Path.of("/")).copy(availableMb = None, availableOn = Map.empty),
    !Try(Files.readSymbolicLink(Path.of("/proc/self/ns/pid"))).toOption
      .forall(_.toString == MachinesOwn)
  )

  /** All cluster managers pass `--cores` to Spark's CoarseGrainedExecutorBackend, whatever the settings are. */
  private[binding] def coresOf(command: String, settings: Map[String, String]): Option[Int] = {
    val words = command.split(' ').toVector
    val passed = words.sliding(2).collectFirst { case Vector("--cores", number) => number }
    passed.orElse(settings.get("spark.executor.cores")).flatMap(_.trim.toIntOption).filter(_ > 0)
  }

  private def jvm(): OwnJvm = {
    val hotspot =
      Option(ManagementFactory.getPlatformMXBean(classOf[HotSpotDiagnosticMXBean]))
    def option(name: String) =
      hotspot.flatMap(bean => Try(bean.getVMOption(name).getValue).toOption)
    OwnJvm(
      option("MaxHeapSize").flatMap(_.toLongOption).getOrElse(Runtime.getRuntime.maxMemory) >> 20,
      option("ParallelGCThreads").flatMap(_.toIntOption),
      option("UseNUMA").contains("true")
    )
  }

  /** The machine's first PID namespace (kernel: PROC_PID_INIT_INO of linux/proc_ns.h). */
  private val MachinesOwn = "pid:[4026531836]"
}
