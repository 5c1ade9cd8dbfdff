package io.hearth.core.plan

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Tasks on imagined machines whose memory has a known limit. */
class TasksPerCoreTest extends AnyFunSuite with Planning {
  private def plan(cores: Int, threads: Int, run: RecordedBandwidth) = planned(
    described(s"2 nodes of 512 GB, $cores cores x $threads threads"),
    workload = Workload(None, None, bandwidth = Some(run))
  )

  test("a core has as many tasks as saturate its node's memory, from one to four") {
    val random = new Random(1)
    for (_ <- 1 to 300) {
      val (cores, threads) = (1 + random.nextInt(24), 1 << random.nextInt(4))
      val run = RecordedBandwidth(0.2 + 9 * random.nextDouble(), 10 + 300 * random.nextDouble())
      val got = plan(cores, threads, run)
      val tasks = got.executors.map(_.taskSlots).sum / 2
      val saturated = run.nodeGbS * 0.8 - 1e-9
      val reached = tasks * run.taskGbS >= saturated || tasks == cores * math.min(threads, 4)
      assert(reached, s"$tasks on $cores x $threads, $run")
      assert(tasks == cores || (tasks - cores) * run.taskGbS <= saturated, s"$tasks, $run")
      assert(reasonOf(got, "threads per core").because.contains("in the recorded run"))
      assert(PlanJson.read(PlanJson.write(got)) == got)
    }
  }

  test("second threads pay on the Xeon of Awan 2016, which used 40 % of 92 GB/s on 24 cores") {
    val run = RecordedBandwidth(0.4 * 92 / 24, 46)
    assert(reasonOf(plan(12, 2, run), "threads per core").value == "2")
  }

  test("what limits the tasks is said with its figures") {
    val said = reasonOf(plan(6, 8, RecordedBandwidth(8, 115)), "threads per core")
    assert(said.value == "2" && said.source == "Awan 2016; hearth")
    assert(said.because.contains("8.00 GB, so that 12 tasks use 80 % of the 115.0 GB/s"))
  }
}
