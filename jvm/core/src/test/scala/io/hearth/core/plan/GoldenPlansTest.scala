package io.hearth.core.plan

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.topology.{IdSet, MemoryTier, Topology}

/** Plans of described machines, kept in `fixtures/plans`. */
class GoldenPlansTest extends AnyFunSuite with Planning {
  private val folder = Project.file("fixtures/plans")
  private val gigabyte = 1L << 30

  private case class Case(
      machine: String,
      workload: Workload = Workload.unknown,
      limits: Limits = Limits.none,
      change: Topology => Topology = identity
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
      "1 node of 128 GB, 24 cores x 2 threads",
      Workload(Some(WorkloadKind.Etl), Some(2 * gigabyte))
    )
  )

  /** One JVM and several executors: with the words of every reason. */
  private val whole = Set("laptop", "power8-bound-to-packages")

  for ((name, wanted) <- cases.toVector.sortBy(_._1))
    test(s"the plan of $name is the one that was agreed on") {
      val made = plan(wanted)
      val text = if (whole(name)) Golden.lines(PlanJson.write(made)) else Golden.shape(made)
      Golden.check(folder.resolve(s"$name.txt"), text)
    }

  test("every agreed plan belongs to a case") {
    val kept = Files.list(folder).iterator.asScala.map(_.getFileName.toString).toSet
    assert(kept == cases.keySet.map(name => s"$name.txt"))
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

  private val Hbm = "2 x Xeon Max, 56 cores, SNC4, HBM as nodes"
  private val Cxl = "2 x Xeon 6, 96 cores, memory behind CXL as nodes"
  private val GpuMemory = "Grace Hopper, one module"
  private val NoChannels = "Threadripper, 4 dies of 8 cores, 2 of them without memory"
  private val Hybrid = "laptop, 6 faster cores x 2 threads, 8 slower cores"

  /** Described, none captured: what their makers say of them. */
  private val today = Vector(
    "2 x EPYC 9005, 128 cores, NPS1" ->
      "2 packages, 2 nodes of 768 GB, 128 cores x 2 threads, l3 of 8 cores",
    "2 x EPYC 9005, 128 cores, NPS2" ->
      "2 packages, 4 nodes of 384 GB, 64 cores x 2 threads, l3 of 8 cores",
    "2 x EPYC 9005, 128 cores, NPS4" ->
      "2 packages, 8 nodes of 192 GB, 32 cores x 2 threads, l3 of 8 cores",
    "2 x EPYC 9005, 128 cores, L3 as NUMA" ->
      "2 packages, 32 nodes of 48 GB, 8 cores x 2 threads, l3 of 8 cores",
    "2 x EPYC 9005, 192 dense cores, NPS1" ->
      "2 packages, 2 nodes of 1536 GB, 192 cores x 2 threads, l3 of 16 cores",
    "2 x Xeon 6, 96 cores, SNC3" -> "2 packages, 6 nodes of 256 GB, 32 cores x 2 threads",
    "Graviton, 96 CPUs" -> "1 node of 768 GB, 96 cores, ARM64",
    "Graviton, 192 CPUs" -> "2 packages, 2 nodes of 768 GB, 96 cores, ARM64",
    "Ampere, 192 cores" -> "1 node of 512 GB, 192 cores, ARM64",
    "Grace, two chips" -> "2 packages, 2 nodes of 240 GB, 72 cores, ARM64",
    Hbm -> "2 packages, 8 nodes of 64 GB, 14 cores x 2 threads, 8 memory-only nodes of 16 GB",
    Cxl -> "2 packages, 2 nodes of 512 GB, 96 cores x 2 threads, 2 memory-only nodes of 256 GB",
    GpuMemory -> "1 node of 480 GB, 72 cores, ARM64, 1 memory-only node of 96 GB",
    NoChannels -> "1 package, 4 nodes of 64 GB, 8 cores x 2 threads, l3 of 4 cores",
    "2 x EPYC 7001, 4 dies of 8 cores each" ->
      "2 packages, 8 nodes of 64 GB, 8 cores x 2 threads, l3 of 4 cores",
    Hybrid -> "1 node of 32 GB, 14 cores x 2 threads",
    "8 sockets of 60 cores" -> "8 packages, 8 nodes of 1400 GB, 60 cores x 2 threads",
    "cloud, 4 CPUs" -> "1 node of 16 GB, 2 cores x 2 threads",
    "cloud, 8 CPUs" -> "1 node of 32 GB, 4 cores x 2 threads",
    "cloud, 16 CPUs" -> "1 node of 64 GB, 8 cores x 2 threads",
    "cloud, 32 CPUs" -> "1 node of 128 GB, 16 cores x 2 threads",
    "cloud, 64 CPUs" -> "1 node of 256 GB, 32 cores x 2 threads",
    "cloud, 96 CPUs" -> "2 nodes of 192 GB, 24 cores x 2 threads",
    "cloud, 128 CPUs" -> "2 nodes of 256 GB, 32 cores x 2 threads",
    "cloud, 192 CPUs" -> "2 nodes of 384 GB, 48 cores x 2 threads"
  )

  /** What a description cannot say of them. */
  private val beyond = Map[String, Topology => Topology](
    Hbm -> withoutCpus(MemoryTier.Faster),
    Cxl -> withoutCpus(MemoryTier.Slower),
    GpuMemory -> (t => t.copy(nodes = t.nodes.map(n => n.copy(gpuMemory = n.cpus.isEmpty)))),
    NoChannels -> (t =>
      t.copy(nodes =
        t.nodes.map(n => if (n.id % 2 == 0) n else n.copy(memoryBytes = 0, freeBytes = None))
      )
    ),
    Hybrid -> { t =>
      val (fast, slow) = t.cores.splitAt(6)
      val single =
        slow.map(c => c.copy(cpus = IdSet(c.cpus.head), kind = Some("cpu_atom"), efficient = true))
      val cores = fast.map(_.copy(kind = Some("cpu_core"))) ++ single
      val cpus = IdSet.union(cores.map(_.cpus))
      t.copy(
        cores = cores,
        nodes = t.nodes.map(_.copy(cpus = cpus)),
        allowed = t.allowed.copy(cpus = cpus)
      )
    }
  ).withDefaultValue(identity[Topology] _)

  private def withoutCpus(tier: MemoryTier)(t: Topology) =
    t.copy(nodes = t.nodes.map(n => n.copy(tier = Option.when(n.cpus.isEmpty)(tier))))

  test("the plans of machines of today are those that were agreed on") {
    val text = today
      .map { case (name, machine) => shaped(name, machine, change = beyond(name)) }
      .mkString("\n")
    Golden.check(Project.file("fixtures/plans-of-today.txt"), text)
  }

  test("a plan says of memory without CPUs what it is, and that it is not used") {
    def said(name: String) =
      reasonOf(plan(Case(today.toMap.apply(name), change = beyond(name))), "memory tiers").because
    assert(said(Hbm).startsWith("nodes 8-15, not used: faster than the memory beside CPUs"))
    assert(said(Cxl).startsWith("nodes 2-3, not used: slower than the memory beside CPUs"))
    assert(said(GpuMemory).startsWith("node 1, not used: a GPU's"))
  }

  /** Machines that the studies had, and sockets of two nodes. */
  private val studied = Vector(
    "15 cores of Kyong 2017" -> "1 package, 1 node of 99 GB, 15 cores",
    "30 cores of Kyong 2017" -> "2 packages, 2 nodes of 99 GB, 15 cores",
    "60 cores of Kyong 2017" -> "4 packages, 4 nodes of 99 GB, 15 cores",
    "120 cores of Kyong 2017" -> "8 packages, 8 nodes of 99 GB, 15 cores",
    "POWER8 of Baig 2018 and Chiba 2015" ->
      "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads, POWER",
    "Xeon of Awan 2016, no second threads" -> "2 packages, 2 nodes of 32 GB, 12 cores",
    "sockets of two nodes" ->
      "2 packages, 4 nodes of 128 GB, 12 cores x 2 threads, distance 12 within package, 32 across",
    "sockets of two narrow nodes, 128 slots" ->
      "4 packages, 8 nodes of 64 GB, 8 cores x 2 threads, distance 12 within package, 32 across"
  )

  test("the plans of the studies' machines, by kind of work and for a small input, are as agreed") {
    val text = studied
      .map { case (name, machine) =>
        val small = plan(Case(machine, Workload(None, Some(4 * gigabyte))))
        s"${shaped(name, machine, WorkloadKind.all)}  any, 4 GB of input: ${small.master}\n"
      }
      .mkString("\n")
    Golden.check(Project.file("fixtures/plans-of-studies.txt"), text)
  }

  private val told = WorkloadKind.all
    .filter(k => k != WorkloadKind.Etl && k != WorkloadKind.Graph)

  private def shaped(
      name: String,
      machine: String,
      of: Seq[WorkloadKind] = told,
      change: Topology => Topology = identity
  ): String = {
    val rows = (None +: of.map(Option(_)).toVector).map { kind =>
      val made = plan(Case(machine, Workload(kind, None), change = change))
      val first = made.executors.head
      val memory = s"heap ${Sizes.show(first.heapMb)}, off-heap ${Sizes.show(first.offHeapMb)} each"
      s"  ${kind.fold("any")(_.name)}: ${made.master}, $memory"
    }
    (s"$name ($machine)" +: rows).mkString("", "\n", "\n")
  }

  private def plan(wanted: Case): Plan =
    planned(wanted.change(described(wanted.machine)), wanted.limits, wanted.workload)
}
