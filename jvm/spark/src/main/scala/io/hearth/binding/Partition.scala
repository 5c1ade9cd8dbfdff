package io.hearth.binding

import io.hearth.core.leases.Leases
import io.hearth.core.plan.{Coexistence, Fitting, DerivedSettings, ExecutorPlan, Limits, Workload}
import io.hearth.core.topology.Topology

/** Which part of its machine an executor takes: pure, of what it sees and of what is leased. */
object Partition {

  /** What an executor takes beside its heap: the planner's rules count it. */
  private val Sizes = DerivedSettings.BesideHeap + "spark.task.cpus"

  /**
   * Whether its cluster manager has narrowed it already: to CPUs of one node of several, or to fewer than two such
   * executors would need. A mask that leaves a few CPUs of the machine to others is no partition.
   */
  def isNarrowed(view: ExecutorView): Boolean = {
    val cpus = view.cpus
    val nodes = view.topology.nodes.count(_.cpus.nonEmpty)
    cpus != view.topology.cpus &&
    (view.cores.exists(cpus.size < 2 * _) ||
      (nodes > 1 && view.topology.nodes.exists(node => cpus.subsetOf(node.cpus))))
  }

  /** @return a place that no other holds, with its memory nodes; or why there is none */
  def find(view: ExecutorView, leases: Leases): Either[String, ExecutorPlan] =
    view.cores.toRight("how many cores it has is not known: set spark.executor.cores").flatMap {
      cores =>
        val fitting = new Fitting(
          granted(view.topology),
          Workload.unknown,
          Limits.none.copy(conf = sizes(view, cores)),
          view.neighbours,
          None
        )
        Coexistence
          .fit(fitting, leases)
          .left
          .map(_.message)
          .flatMap(fitted =>
            fitted.full.toLeft(emptiest(fitted.plan.executors, view.topology, leases))
          )
    }

  private def sizes(view: ExecutorView, cores: Int): Map[String, String] =
    view.settings.filter { case (key, _) => Sizes(key) } ++ Map(
      "spark.executor.cores" -> s"$cores",
      "spark.executor.memory" -> s"${view.jvm.heapMb}m"
    )

  /** The cluster manager has granted memory and CPU time of the cgroup to this executor, which is one of them. */
  private def granted(machine: Topology): Topology =
    machine.copy(allowed =
      machine.allowed.copy(memoryLimitBytes = None, cpuQuota = None, batch = Vector.empty)
    )

  /** On the node with most CPUs left, so that executors spread over the machine's memory. */
  private def emptiest(
      places: Vector[ExecutorPlan],
      machine: Topology,
      leases: Leases
  ): ExecutorPlan = {
    def free(place: ExecutorPlan) =
      machine.nodes.filter(_.cpus.intersects(place.cpus)).map(n => (n.cpus &~ leases.cpus).size).sum
    places.maxBy(place => (free(place) - place.cpus.size, -place.id))
  }
}
