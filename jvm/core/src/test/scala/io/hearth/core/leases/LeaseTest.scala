package io.hearth.core.leases

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.plan.Project

class LeaseTest extends AnyFunSuite {
  private val example = Files.readString(Project.file("contract/examples/lease.json"))

  test("the worked example of the contract is read and written without loss") {
    val written = Lease.read(example).map(lease => Json.pretty(lease.toJson))
    assert(written == Right(Json.pretty(Json.parse(example, "the example"))))
  }

  test("a lease without its CPUs is refused with the name of the example") {
    val why = Lease.read(example.replace("\"cpus\"", "\"x\"")).left.getOrElse("")
    assert(why.contains("contract/examples/lease.json"))
  }
}
