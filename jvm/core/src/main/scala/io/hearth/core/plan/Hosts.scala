package io.hearth.core.plan

/**
 * Names under which Spark's scheduler knows the places of a plan.
 *
 * A NUMA node is a host: locality, speculation and exclusion then work between nodes as they do
 * between machines. Where a whole plan sits on one node every executor is a host of its own, since
 * Spark never runs two attempts of a task on one host. The names are loopback addresses, so that they
 * can be dialled and need no name resolution: Linux answers on all of 127.0.0.0/8. None ends in 0 or
 * 255, which some software takes for a network or a broadcast.
 */
private[plan] object Hosts {
  private val PerOctet = 250
  private val FirstExecutorOctet = 200

  /**
   * @param firstNodes the first memory node of every executor
   * @param shared whether executors share the CPUs of their package
   */
  def of(firstNodes: Vector[Int], shared: Boolean): Decided[Vector[String]] = {
    val (names, because) =
      if (firstNodes.distinct.sizeIs > 1) {
        val place = if (shared) "package" else "NUMA node"
        (firstNodes.map(address(0, _)), s"a $place is a host to Spark's scheduler")
      } else
        (
          firstNodes.indices.toVector.map(address(FirstExecutorOctet, _)),
          "on one node every executor is a host"
        )
    val why = s"$because, so that locality, speculation and exclusion work within the machine"
    Decided(names, Reason("hosts", s"${names.distinct.size}", why, "Spark: TaskSetManager"))
  }

  private def address(octet: Int, n: Int): String =
    s"127.78.${octet + n / PerOctet}.${n % PerOctet + 1}"
}
