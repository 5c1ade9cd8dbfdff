package io.hearth.core.communication

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.affinity.Ids
import io.hearth.core.plan.{Golden, Project}
import io.hearth.core.testing.Required
import io.hearth.core.topology.{Captures, TopologyReader}

/** What every policy gives on captures and described machines, kept in `fixtures/affinity`. */
class GoldenAffinityTest extends AnyFunSuite {
  private val folder = Project.file("fixtures/affinity")
  private val policies =
    Vector(
      "near-threads:4",
      "near-all",
      "near-core",
      "o2nts:4",
      "o2acs",
      "o2ocs",
      "o2ntc:4",
      "o2occ"
    )
  private val wanted =
    Map(
      "40intel64-2g2n4c+pcilocality" -> Some("ib0"),
      "32em64t-2n8c+dax+nvme+mic+dimms" -> Some("br0")
    )
      .withDefaultValue(None)

  private val described = Map(
    "power8" -> "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads, POWER, mlx5_0 on node 2",
    "laptop" -> "1 node of 16 GB, 4 cores x 2 threads, eth0 on node 0",
    "memory-only-node" -> "2 packages, 2 nodes of 64 GB, 10 cores, 1 memory-only node of 256 GB, eth0 on node 2"
  )

  for ((name, machine) <- described.toVector.sorted)
    test(s"the policies on $name give what was agreed on")(check(name, machine))

  for (capture <- Captures.own)
    test(s"the policies on the capture ${Captures.name(capture)} give what was agreed on") {
      check(Captures.name(capture), capture.toString)
    }

  for (name <- Vector("40intel64-2g2n4c+pcilocality", "32em64t-2n8c+dax+nvme+mic+dimms"))
    test(s"the policies on the capture $name of hwloc's give what was agreed on") {
      val found: Option[Path] = Captures.shared.find(Captures.name(_) == name)
      Required("shared", found.nonEmpty, s"../shared/data/machines/$name.tar.bz2")
      check(name, found.fold("")(_.toString))
    }

  private def check(name: String, machine: String): Unit = {
    val topology = TopologyReader.load(Some(machine))
    val adapters = TopologyReader.adapters(Some(machine), topology)
    val device = wanted(name).filter(d => adapters.exists(_.name == d))
    val lines = policies.map { policy =>
      val plan = CommunicationPlan.plan(topology, adapters, device, None, Some(policy))
      val near =
        if (!plan.device.isPresent) "no device"
        else {
          val d = plan.device.get
          s"${d.name} (${d.why}) over ${d.lowest.asScala.mkString(",")}: node '${Ids.show(d.nodes)}', " +
            s"CPUs '${Ids.show(d.cpus)}', ${d.source}"
        }
      val groups = plan.groups.asScala.map(Ids.show).mkString(" | ")
      s"$policy: $near\n  $groups\n" + plan.remarks.asScala.map(r => s"  $r\n").mkString
    }
    Golden.check(folder.resolve(s"$name.txt"), lines.mkString)
  }
}
