package io.hearth.core.plan

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Required
import io.hearth.core.topology.MachineSpec

/** The zero-run plan of the POWER8 of Baig 2018, judged by its published times. */
class PowerEightTest extends AnyFunSuite with Planning {
  private val machine =
    MachineSpec.parse("2 packages, 4 nodes of 256 GB, 6 cores x 8 threads")

  private val gigabyte = 1L << 30
  private val workloads = for {
    kind <- None +: WorkloadKind.all.map(Option(_))
    input <- Vector(None, Some(17 * gigabyte), Some(24 * gigabyte), Some(47 * gigabyte))
  } yield Workload(kind, input)

  private def plan(workload: Workload): Plan = planned(machine, workload = workload)

  test(
    "Baig's POWER8 gets two executors of twelve slots on each node, three of eight for kinds that need heap"
  ) {
    workloads.map(w => w -> plan(w)).foreach { case (workload, plan) =>
      val heap = Set[WorkloadKind](WorkloadKind.Ml, WorkloadKind.Graph)
      val kept = workload.kind.exists(heap)
      assert(plan.master == (if (kept) "local-numa[12x8]" else "local-numa[8x12]"), workload)
      assert(plan.executors.groupBy(_.memoryNodes).size == 4)
      assert(plan.executors.forall(_.memoryNodes.size == 1))
    }
  }

  for (
    (table, kind, input) <- Seq(
      ("table4_svm.csv", WorkloadKind.Ml, 47),
      ("table6_pagerank.csv", WorkloadKind.Graph, 17)
    );
    known <- Seq(Workload(Some(kind), Some(input * gigabyte)), Workload.unknown)
  )
    test(
      s"the plan lies within 10 % of the best published time of $table, its kind ${known.kind}"
    ) {
      val times = published(table)
      val executors = plan(known).executors
      val ours = times((executors.size, executors.head.taskSlots))
      assert(ours <= times.values.min * 1.1)
    }

  /** Seconds by workers and cores per worker. */
  private def published(table: String): Map[(Int, Int), Double] = {
    val file: Path = Project.file("../shared/data/power8").resolve(table)
    Required("shared", Files.exists(file), s"../shared/data/power8/$table")
    val lines = Files.readAllLines(file).asScala.toVector.map(_.split(',').toVector)
    lines.tail
      .map(lines.head.zip(_).toMap)
      .map { row =>
        (row("workers").toInt, row("cores_per_worker").toInt) -> row("seconds").toDouble
      }
      .toMap
  }
}
