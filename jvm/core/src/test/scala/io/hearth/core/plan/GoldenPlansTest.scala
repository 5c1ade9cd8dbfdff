package io.hearth.core.plan

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.topology.{IdSet, MachineSpec}

/** Whole plans of described machines, kept in `fixtures/plans`. */
class GoldenPlansTest extends AnyFunSuite {
  private val folder = Project.file("fixtures/plans")
  private val gigabyte = 1L << 30

  private case class Case(
      machine: String,
      workload: Workload = Workload.unknown,
      limits: Limits = Limits.none
  )

  private val cases = Map(
    "laptop" -> Case("1 node of 16 GB, 4 cores x 2 threads"),
    "two-sockets" -> Case("2 packages, 2 nodes of 128 GB, 12 cores x 2 threads"),
    "two-sockets-sql-20g" -> Case(
      "2 packages, 2 nodes of 128 GB, 12 cores x 2 threads",
      Workload(Some(WorkloadKind.Sql), Some(20 * gigabyte))
    ),
    "power8" -> Case("2 packages, 4 nodes of 256 GB, 6 cores x 8 threads, POWER"),
    "power8-asked-4x12" -> Case(
      "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads, POWER",
      limits = Limits(Some(4), Some(12), Some(48L * 1024), Map.empty)
    ),
    "power8-bound-to-packages" -> Case(
      "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads, POWER",
      limits = Limits(Some(6), Some(16), None, Map("spark.hearth.binding.scope" -> "package"))
    ),
    "shared-caches" -> Case("2 packages, 8 nodes of 64 GB, 16 cores x 2 threads, l3 of 8 cores"),
    "memory-only-node" -> Case(
      "2 packages, 2 nodes of 64 GB, 10 cores, 1 memory-only node of 256 GB"
    ),
    "one-node-fits-the-data" -> Case(
      "1 node of 128 GB, 32 cores x 2 threads",
      Workload(Some(WorkloadKind.Etl), Some(2 * gigabyte))
    )
  )

  for ((name, wanted) <- cases.toVector.sortBy(_._1))
    test(s"the plan of $name is the one that was agreed on") {
      Golden.check(
        folder.resolve(s"$name.json"),
        Json.pretty(PlanJson.write(plan(wanted))) + "\n"
      )
    }

  test("every agreed plan belongs to a case") {
    val kept = Files.list(folder).iterator.asScala.map(_.getFileName.toString).toSet
    assert(kept == cases.keySet.map(name => s"$name.json"))
  }

  test("the worked example of the contract is what its request gives") {
    val request = PlanRequest.read(
      Json.parse(
        Files.readString(Project.file("contract/examples/plan-request.json")),
        "the request"
      )
    )
    val file = Project.file("contract/examples/plan.json")
    val text = Json.pretty(
      PlanJson.write(
        plan(Case(request.machine.getOrElse(fail("no machine")), request.workload, request.limits))
      )
    ) + "\n"
    Golden.check(file, text)
  }

  private def plan(wanted: Case): Plan =
    Planner
      .plan(MachineSpec.parse(wanted.machine), wanted.workload, wanted.limits, IdSet.empty)
      .fold(u => fail(u.message), identity)
}
