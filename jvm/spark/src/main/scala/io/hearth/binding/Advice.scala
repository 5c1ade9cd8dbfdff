package io.hearth.binding

import io.hearth.core.Counted
import io.hearth.core.topology.IdSet

/** Which settings of an executor do not fit where it runs, each with the setting to change: pure. */
object Advice {

  /** @param cpus that it may run on */
  def of(view: ExecutorView, cpus: IdSet): Vector[String] = {
    val nodes = view.topology.nodes.filter(_.cpus.intersects(cpus))
    val names = IdSet.from(nodes.map(_.id))
    val memoryMb = nodes.map(_.memoryBytes >> 20).sum
    val widest = view.topology.nodes.map(n => (n.cpus & view.cpus).size).maxOption.getOrElse(0)
    val cores = view.cores.getOrElse(0)
    Vector(
      Option.when(nodes.sizeIs > 1)(
        s"its CPUs $cpus span the ${names.named("memory node")}, so part of its memory is remote: " +
          (if (cores > widest) s"set spark.executor.cores to at most $widest, as many as a node has"
           else "have its cluster manager narrow it to one node, or leave it free to be bound")
      ),
      Option.when(cores > cpus.size)(
        s"$cores tasks at a time share ${Counted(cpus.size, "CPU")}: set spark.executor.cores to ${cpus.size}"
      ),
      Option.when(memoryMb > 0 && view.jvm.heapMb > memoryMb)(
        s"its heap of ${view.jvm.heapMb} MB is larger than the $memoryMb MB of ${names.named("memory node")}: set " +
          s"spark.executor.memory to less than ${memoryMb}m"
      ),
      view.jvm.collectorThreads
        .filter(_ > cpus.size)
        .map(threads =>
          s"it has $threads collector threads for ${Counted(cpus.size, "CPU")}, sized before it was bound: put " +
            s"-XX:ActiveProcessorCount=${cpus.size} into spark.executor.extraJavaOptions"
        ),
      Option.when(view.jvm.useNuma && view.topology.nodes.sizeIs > 1)(
        "-XX:+UseNUMA spreads its heap over all memory nodes: remove it from spark.executor.extraJavaOptions"
      )
    ).flatten
  }
}
