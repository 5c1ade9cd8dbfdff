package io.hearth.core.cli

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.bandwidth.NodeBandwidth
import io.hearth.core.json.Json
import io.hearth.core.plan.Project

class BandwidthVerbTest extends AnyFunSuite {

  test("the worked example of the contract is what is written of two nodes") {
    def node(id: Int, rates: Double*) =
      NodeBandwidth(id, rates.toVector, 12, 128L << 20, Some(30L << 20))
    val nodes = Vector(node(0, 46.9, 48.2, 45.004), node(1, 46.1, 40.0, 47.701))
    val example = Json.parse(
      Files.readString(Project.file("contract/examples/bandwidth.json")),
      "the example"
    )
    assert(Json.pretty(BandwidthVerb.document(nodes)) == Json.pretty(example))
  }
}
