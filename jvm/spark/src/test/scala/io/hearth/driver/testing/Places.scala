package io.hearth.driver.testing

import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.IdSet

/** Places of a plan with two CPUs each, two of them on each host and node. */
object Places {
  def place(id: Int, host: String): ExecutorPlan = ExecutorPlan(
    id,
    IdSet(id * 2, id * 2 + 1),
    IdSet(id / 2),
    taskSlots = 2,
    heapMb = 2048,
    offHeapMb = 0,
    overheadMb = 384,
    pysparkMb = 0,
    javaOptions = Vector("-XX:+UseParallelGC"),
    host
  )

  def of(number: Int): Vector[ExecutorPlan] =
    Vector.tabulate(number)(id => place(id, ('a' + id / 2).toChar.toString))
}
