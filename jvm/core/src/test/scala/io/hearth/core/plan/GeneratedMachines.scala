package io.hearth.core.plan

import org.scalacheck.Gen

import io.hearth.core.topology._

/** One NUMA node of a generated machine; ids are given when the machine is built. */
final case class NodeForm(cores: Int, memoryMb: Long)

/**
 * A machine in the terms in which it can grow: the same form with more of something is a larger
 * machine.
 *
 * @param packages nodes of each package
 * @param idStep distance between node ids, so that ids are sparse
 * @param cacheCores cores that share a last-level cache, if the kernel tells
 * @param taken CPUs, counted along the machine, that are not allowed
 */
final case class MachineForm(
    packages: Vector[Vector[NodeForm]],
    threads: Int,
    idStep: Int,
    cacheCores: Option[Int],
    memoryOnlyMb: Vector[Long],
    limitMb: Option[Long]
) {
  def nodes: Vector[NodeForm] = packages.flatten

  def topology: Topology = {
    val firsts = nodes.scanLeft(0)(_ + _.cores)
    val nodeCpus = nodes.zip(firsts).map { case (node, first) => cpusOf(first, node.cores) }
    val ids = nodeCpus.indices.map(_ * idStep).toVector
    val extra = memoryOnlyMb.indices.map(i => (nodes.size + i) * idStep).toVector
    val own =
      ids.indices.toVector.map(i => node(ids(i), nodeCpus(i), nodes(i).memoryMb, ids ++ extra))
    val only =
      extra.indices.toVector.map(i => node(extra(i), IdSet.empty, memoryOnlyMb(i), ids ++ extra))
    val packageOf = packages.zipWithIndex.flatMap { case (p, i) => p.map(_ => i) }
    val cores =
      nodes.indices.toVector.flatMap(n => coresOf(firsts(n), nodes(n).cores, packageOf(n)))
    Topology(
      "generated",
      None,
      packagesOf(cores),
      own ++ only,
      caches(firsts),
      cores,
      Vector.empty,
      Allowed(IdSet.union(nodeCpus), IdSet.from(ids ++ extra), limitMb.map(_ << 20)),
      Vector.empty
    )
  }

  private def cpusOf(firstCore: Int, count: Int) =
    IdSet.from(firstCore * threads until (firstCore + count) * threads)

  private def coresOf(first: Int, count: Int, packageId: Int) =
    Vector.tabulate(count)(i => Core(first + i, packageId, 0, cpusOf(first + i, 1), None))

  private def packagesOf(cores: Vector[Core]) =
    cores.groupBy(_.packageId).toVector.sortBy(_._1).map { case (id, own) =>
      val cpus = IdSet.union(own.map(_.cpus))
      CpuPackage(id, cpus, Vector(Die(0, cpus)))
    }

  private def caches(firsts: Vector[Int]) =
    for {
      size <- cacheCores.toVector
      (node, first) <- nodes.zip(firsts)
      from <- 0 until node.cores by size
    } yield CacheGroup(3, None, cpusOf(first + from, math.min(size, node.cores - from)))

  private def node(id: Int, cpus: IdSet, memoryMb: Long, all: Vector[Int]) =
    NumaNode(id, cpus, memoryMb << 20, None, all.map(to => to -> (if (to == id) 10 else 20)).toMap)
}

object GeneratedMachines {

  /** Given or not by even odds; `Gen.option` nearly always gives, which leaves the plan no choice. */
  private def maybe[A](gen: Gen[A]): Gen[Option[A]] =
    Gen.oneOf(Gen.const(Option.empty[A]), gen.map(Option(_)))

  private val memory: Gen[Long] =
    Gen.frequency(6 -> Gen.choose(2048L, 300000L), 2 -> Gen.choose(100L, 4000L), 1 -> Gen.const(0L))

  private val node: Gen[NodeForm] =
    for (cores <- Gen.choose(1, 14); mb <- memory) yield NodeForm(cores, mb)

  val forms: Gen[MachineForm] =
    for {
      packages <- Gen.choose(1, 3)
      perPackage <- Gen.choose(1, 4)
      alike <- Gen.oneOf(true, false)
      first <- node
      each = if (alike) Gen.const(first) else node
      nodes <- Gen.listOfN(packages, Gen.listOfN(perPackage, each).map(_.toVector))
      threads <- Gen.oneOf(1, 2, 4, 8)
      step <- Gen.oneOf(1, 8)
      cache <- maybe(Gen.choose(1, 8))
      memoryOnly <- Gen.frequency(3 -> Gen.const(0), 1 -> Gen.choose(1, 2))
      onlyMb <- Gen.listOfN(memoryOnly, memory)
      limit <- maybe(Gen.choose(500L, 600000L))
    } yield MachineForm(nodes.toVector, threads, step, cache, onlyMb.toVector, limit)

  /** A machine whose process may use a part of it only, and CPUs of that part which are occupied. */
  val restricted: Gen[(Topology, IdSet)] =
    for {
      form <- forms
      topology = form.topology
      cpus = topology.cpus.toVector
      allowed <- Gen.frequency(1 -> Gen.const(cpus), 2 -> Gen.atLeastOne(cpus).map(_.toVector))
      nodes <- Gen.frequency(
        2 -> Gen.const(topology.nodes),
        1 -> Gen.someOf(topology.nodes).map(_.toVector)
      )
      occupied <- Gen.frequency(1 -> Gen.const(Vector.empty), 1 -> Gen.someOf(cpus).map(_.toVector))
      part = topology.allowed.copy(cpus = IdSet.from(allowed), nodes = IdSet.from(nodes.map(_.id)))
    } yield (topology.copy(allowed = part), IdSet.from(occupied))

  val workloads: Gen[Workload] =
    for {
      kind <- maybe(Gen.oneOf(WorkloadKind.all))
      bytes <- maybe(Gen.oneOf(Gen.choose(0L, 1L << 33), Gen.choose(0L, 1L << 41)))
    } yield Workload(kind, bytes)

  /** A machine, and counts and a heap asked of it that are about as large as it is: many do not fit. */
  val tight: Gen[(Topology, Limits)] =
    for {
      topology <- forms.map(_.topology)
      nodes = topology.nodes.filter(_.cpus.nonEmpty)
      executors <- Gen.choose(1, 2 * nodes.size)
      cores <- Gen.choose(1, 3 * topology.cpus.size / (2 * executors) + 1)
      share <- Gen.choose(0.1, 1.6)
    } yield {
      val each = nodes.map(_.memoryBytes >> 20).sum * share / executors
      val memoryMb = Some(math.max(1000L, each.toLong)) // less has another reason
      val asked = Limits.none.copy(executors = Some(executors), cores = Some(cores))
      (topology, asked.copy(memoryMb = memoryMb))
    }

  private val confs: Gen[Map[String, String]] = {
    val keys = Gen.oneOf(
      Gen.choose(1, 40).map(n => "spark.cores.max" -> s"$n"),
      Gen.choose(1, 9).map(n => "spark.task.cpus" -> s"$n"),
      Gen.choose(100, 90000).map(n => "spark.executor.memoryOverhead" -> s"$n"),
      Gen.choose(100, 90000).map(n => "spark.driver.memory" -> s"${n}m"),
      Gen.choose(100, 90000).map(n => "spark.driver.memoryOverhead" -> s"$n"),
      Gen.choose(100, 90000).map(n => "spark.executor.pyspark.memory" -> s"$n"),
      Gen.const("spark.dynamicAllocation.enabled" -> "true"),
      Gen.choose(1, 9).map(n => "spark.dynamicAllocation.maxExecutors" -> s"$n"),
      Gen.choose(1, 9).map(n => "spark.executor.instances" -> s"$n")
    )
    // Few at a time: of many, some contradict each other, and the plan is refused.
    val few = Gen.choose(1, 3).flatMap(Gen.listOfN(_, keys)).map(_.toMap)
    Gen.frequency(3 -> Gen.const(Map.empty[String, String]), 2 -> few)
  }

  val limits: Gen[Limits] =
    for {
      executors <- maybe(Gen.choose(1, 40))
      cores <- maybe(Gen.choose(1, 40))
      memory <- maybe(Gen.oneOf(Gen.choose(200L, 4000L), Gen.choose(200L, 200000L)))
      conf <- confs
    } yield Limits(executors, cores, memory, conf)
}
