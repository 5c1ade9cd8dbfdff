package io.hearth.core.plan

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.WorkloadKind.{Graph, Ml, Sql}
import io.hearth.core.testing.Required

/** The zero-run plan of the POWER8 of Baig 2018, judged by its published times. */
class PowerEightTest extends AnyFunSuite with Planning {
  private def plan(workload: Workload, threads: Long = 8): Plan = planned(
    described(s"2 packages, 4 nodes of 256 GB, 6 cores x $threads threads"),
    workload = workload
  )

  private val gigabyte = 1L << 30
  private val workloads = for {
    kind <- None +: WorkloadKind.all.map(Option(_))
    input <- Vector(None, Some(17 * gigabyte), Some(24 * gigabyte), Some(47 * gigabyte))
  } yield Workload(kind, input)

  test("on each node SQL gets the 12 slots that were its best, others 24") {
    workloads.map(w => w -> plan(w)).foreach { case (workload, plan) =>
      val (master, tasks) = workload.kind match {
        case Some(Sql) => ("local-numa[4x12]", "2")
        case Some(Ml | Graph) => ("local-numa[12x8]", "4")
        case _ => ("local-numa[8x12]", "4")
      }
      assert(plan.master == master, workload)
      assert(reasonOf(plan, "threads per core").value == tasks)
      assert(plan.executors.groupBy(_.memoryNodes).size == 4)
      assert(plan.executors.forall(_.memoryNodes.size == 1))
    }
  }

  for (
    (table, kind, input) <- Seq(("table4_svm.csv", Ml, 47), ("table6_pagerank.csv", Graph, 17));
    known <- Seq(Workload(Some(kind), Some(input * gigabyte)), Workload.unknown)
  )
    test(s"the plan is within 10 % of the best published time of $table, kind ${known.kind}") {
      assert(toBest(table, plan(known)) <= 1.1)
    }

  /**
   * Tasks on a node of six cores that other workloads were fastest with, bound to four nodes: of Baig
   * 2018 SQL 12, SVM 24, PageRank 18; without that study the 12 of Chiba 2015 are left.
   */
  for (
    (table, kind, others, most) <- Seq(
      ("table4_svm.csv", Ml, Seq(12, 18), 1.14),
      ("table6_pagerank.csv", Graph, Seq(12, 24), 1.16),
      ("table4_svm.csv", Ml, Seq(12), 1.14),
      ("table6_pagerank.csv", Graph, Seq(12), 1.24)
    )
  )
    test(s"tasks a core from $others a node, without its own, cost $table at most $most times") {
      val mean = math.exp(others.map(n => math.log(n.toDouble)).sum / others.size)
      assert(toBest(table, plan(Workload(Some(kind), None), math.round(mean / 6))) <= most)
    }

  /** The published time of a plan, or of as many executors nearest in width, to the best one. */
  private def toBest(table: String, plan: Plan): Double = {
    val file: Path = Project.file("../shared/data/power8").resolve(table)
    Required("shared", Files.exists(file), s"../shared/data/power8/$table")
    val rows = Files.readAllLines(file).asScala.tail.map(_.split(','))
    val alike = rows.filter(_(1).toInt == plan.executors.size)
    val ours = alike.minBy(row => math.abs(row(2).toInt - plan.executors.head.taskSlots))
    ours.last.toDouble / rows.map(_.last.toDouble).min
  }
}
