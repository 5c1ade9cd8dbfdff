package org.apache.spark.scheduler.cluster.numa

import java.net.InetAddress

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.util.Utils

/**
 * Spark's scheduler, told that a NUMA node is a host and the machine is a rack: the hosts of the plan and
 * the names under which others (a data node, say) know this machine stand in one rack, nothing else does.
 *
 * @param hosts names of the plan's places
 */
private[spark] class LocalNumaScheduler(sc: SparkContext, hosts: Set[String])
    extends TaskSchedulerImpl(sc) {

  private val machine: Set[String] = hosts ++ Set(
    "localhost",
    "127.0.0.1",
    Utils.localHostName(),
    Utils.localCanonicalHostName(),
    InetAddress.getLoopbackAddress.getHostAddress
  )

  override def getRacksForHosts(known: Seq[String]): Seq[Option[String]] =
    known.map(host => Option.when(machine.contains(host))(LocalNumaScheduler.Rack))
}

private[spark] object LocalNumaScheduler {
  val Rack: String = "/machine"
}
