package io.hearth.core.plan

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{MachineSpec, Topology}

/** Executors over several nodes have the nearest ones, whatever the nodes' numbers are. */
class NearNodesTest extends AnyFunSuite with Seeded with Planning {
  private def planned(topology: Topology, executors: Int, cores: Option[Int]): Plan =
    planned(topology, Limits(Some(executors), cores, None, Map.empty))

  private def nodesOf(topology: Topology, plan: Plan): Set[Set[Int]] =
    plan.executors.map(e => topology.nodes.filter(_.cpus.intersects(e.cpus)).map(_.id).toSet).toSet

  private def machine(distances: Vector[Vector[Int]], cores: Int): Topology = {
    val table = distances.map(_.mkString(" ")).mkString(" / ")
    MachineSpec.parse(s"${distances.size} nodes of 64 GB, $cores cores, distances $table")
  }

  test(
    "with nodes 0 and 2 near, and 1 and 3, two executors have those, asked for by count or by width"
  ) {
    val distances = "10 30 20 30 / 30 10 30 20 / 20 30 10 30 / 30 20 30 10"
    val near = described(s"4 nodes of 64 GB, 4 cores, distances $distances")
    for (cores <- Seq(None, Some(8)))
      assert(nodesOf(near, planned(near, 2, cores)) == Set(Set(0, 2), Set(1, 3)), cores)
  }

  /** Groups of equally near nodes under shuffled numbers, and those groups. */
  private val grouped = for {
    groups <- Gen.choose(2, 5)
    each <- Gen.choose(2, 4)
    cores <- Gen.choose(2, 6)
    order <- Gen.pick(groups * each, 0 until groups * each).map(_.toVector)
    shuffled <- Gen.long.map(seed => new scala.util.Random(seed).shuffle(order))
  } yield {
    val groupOf = shuffled.zipWithIndex.map { case (node, i) => node -> i / each }.toMap
    val nodes = order.indices.toVector
    val table =
      nodes.map(a => nodes.map(b => if (a == b) 10 else if (groupOf(a) == groupOf(b)) 15 else 30))
    (machine(table, cores), groups, each * cores, nodes.groupBy(groupOf).values.map(_.toSet).toSet)
  }

  test("as many executors as there are groups of near nodes have one group each") {
    forAll(grouped) { case (topology, groups, width, expected) =>
      assert(nodesOf(topology, planned(topology, groups, None)) == expected)
      assert(nodesOf(topology, planned(topology, groups, Some(width))) == expected)
    }
  }

  private val anyDistances = for {
    nodes <- Gen.choose(3, 8)
    far <- Gen.listOfN(nodes * nodes, Gen.choose(11, 60)).map(_.toVector)
  } yield Vector.tabulate(nodes, nodes) { (a, b) =>
    if (a == b) 10 else far(math.min(a, b) * nodes + math.max(a, b))
  }

  test("no executors are over nodes farther apart than if nodes were joined by their numbers") {
    forAll(anyDistances) { table =>
      val pairs = table.size / 2
      def apart(groups: Iterable[Set[Int]]) =
        groups.iterator.flatMap(_.toVector.combinations(2)).map(p => table(p(0))(p(1))).sum
      val even = table.take(pairs * 2).map(_.take(pairs * 2))
      val topology = machine(even, 4)
      val byNumber = even.indices.grouped(2).map(_.toSet).toVector
      assert(apart(nodesOf(topology, planned(topology, pairs, None))) <= apart(byNumber))
    }
  }
}
