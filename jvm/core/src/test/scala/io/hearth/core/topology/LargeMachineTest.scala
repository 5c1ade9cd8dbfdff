package io.hearth.core.topology

import java.lang.management.ManagementFactory

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.{Limits, Planner, Workload}
import io.hearth.core.topology.Fixture.Cpu

class LargeMachineTest extends AnyFunSuite {

  private def machine(cpus: Int): Fixture = {
    val files = for {
      cpu <- 0 until cpus
      at = s"$Cpu/cpu$cpu/topology"
      (file, text) <- Vector(
        "core_id" -> s"$cpu",
        "physical_package_id" -> s"${cpu / 128}",
        "core_cpus_list" -> s"$cpu",
        "package_cpus_list" -> s"${cpu / 128 * 128}-${cpu / 128 * 128 + 127}"
      )
    } yield s"$at/$file" -> text
    Fixture(
      (files :+ (s"$Cpu/online" -> s"0-${cpus - 1}") :+ ("proc/meminfo" -> s"MemTotal: ${cpus * 65536L} kB")).toMap
    )
  }

  /** CPU seconds of this thread. */
  private def seconds(work: => Any): Double = {
    val threads = ManagementFactory.getThreadMXBean
    val before = threads.getCurrentThreadCpuTime
    work
    (threads.getCurrentThreadCpuTime - before) / 1e9
  }

  test("reading, writing and planning for a machine takes time in proportion to its CPUs") {
    def cost(cpus: Int) = {
      val tree = machine(cpus).tree
      seconds {
        val topology = TopologyReader.read(tree, "large")
        assert(topology.cores.size == cpus)
        TopologyJson.read(TopologyJson.write(topology))
        Planner.plan(topology, Workload.unknown, Limits.none, IdSet.empty)
      }
    }
    cost(1024) // compiles
    // What else runs takes the caches, which can only make a cost larger.
    var costs = Vector((cost(2048), cost(16384)))
    def min = (costs.map(_._1).min, costs.map(_._2).min)
    def proportional = min._2 < 24 * min._1
    while (!proportional && costs.size < 12) costs :+= ((cost(2048), cost(16384)))
    info(f"2,048 CPUs: ${min._1}%.2f s; 16,384 CPUs: ${min._2}%.2f s")
    assert(proportional, "eight times as many CPUs, and the square of eight is 64")
  }
}
