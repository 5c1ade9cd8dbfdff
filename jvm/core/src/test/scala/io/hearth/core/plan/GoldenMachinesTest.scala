package io.hearth.core.plan

import java.nio.file.Path

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{Captures, IdSet, TopologyJson, TopologyReader}

/**
 * Captures in `fixtures/machines`, each with the topology that is read from it and its plan beside it:
 * a capture (`hearth topology --capture`) becomes a test by being put there.
 */
class GoldenMachinesTest extends AnyFunSuite {

  test("there are captures") {
    assert(Captures.own.nonEmpty)
  }

  for (capture <- Captures.own) {
    val name = Captures.name(capture)
    val topology = TopologyReader.load(Some(capture.toString)).copy(source = name)

    test(s"the topology of $name is the one that was agreed on") {
      Golden.check(beside(capture, "topology"), Golden.lines(TopologyJson.write(topology)))
    }

    test(s"the plan of $name is the one that was agreed on") {
      val text = Planner
        .plan(topology, Workload.unknown, Limits.none, IdSet.empty)
        .fold(_.message + "\n", Golden.shape)
      Golden.check(beside(capture, "plan"), text)
    }
  }

  private def beside(capture: Path, what: String): Path =
    capture.resolveSibling(s"${Captures.name(capture)}.$what.txt")
}
