package io.hearth.core.topology

import java.nio.file.Files

import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.plan.Project

class TopologyJsonTest extends AnyFunSuite {
  private val example = Json.parse(
    Files.readString(Project.file("contract/examples/topology.json")),
    "the example"
  )

  test("the worked example is read and written without loss") {
    assert(Json.pretty(TopologyJson.write(TopologyJson.read(example))) == Json.pretty(example))
  }

  for ((name, fixture) <- Machines.small + ("GPU driver" -> Machines.powerWithGpuDriver))
    test(s"the document of $name reads back equal") {
      val topology = fixture.read()
      val document = Json.pretty(TopologyJson.write(topology))
      assert(TopologyJson.read(Json.parse(document, "it")) == topology)
    }

  test("a document that lacks a field or has a wrong one is refused by the field's name") {
    def changed(change: ObjectNode => Any) = {
      val copy = example.deepCopy[ObjectNode]()
      change(copy)
      intercept[UserError](TopologyJson.read(copy)).getMessage
    }
    assert(changed(_.remove("nodes")).contains("no usable 'nodes': it is absent"))
    assert(changed(_.put("schema", "hearth/plan/1")).contains("it is 'hearth/plan/1'"))
    assert(changed(_.put("cores", "x")).contains("'cores': it is not a list"))
    val node = (root: ObjectNode) => root.get("nodes").get(0).asInstanceOf[ObjectNode]
    assert(changed(node(_).put("cpus", "1-x")).contains("the topology.nodes[0]"))
    assert(changed(node(_).put("free_bytes", "many")).contains("'free_bytes': it is not a whole"))
    assert(changed(node(_).put("memory_bytes", 1.5)).contains("'memory_bytes'"))
    assert(changed(node(_).put("cpus", "0-7")).contains("two nodes share a CPU"))
    assert(changed(node(_).put("id", 1)).contains("a node occurs twice"))
    assert(
      changed(_.get("allowed").asInstanceOf[ObjectNode].put("cpus", "99"))
        .contains("no CPU is allowed")
    )
  }
}
