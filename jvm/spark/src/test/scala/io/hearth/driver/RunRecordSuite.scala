package io.hearth.driver

import java.nio.file.{Files, Path}
import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.plan.{BindingMode, HostNames, Launcher}

class RunRecordSuite extends AnyFunSuite {

  test("the worked example of the contract is what a driver writes") {
    val work = Work(400, failed = 1, runMs = 5120500, gcMs = 61250, killed = Vector("3"))
    val record = RunRecord(
      appId = "local-numa-1795252947596-4711",
      name = "nightly report",
      master = "local-numa[4x12]",
      sparkVersion = "4.3.0",
      machine = "bigbox",
      driverPid = 4711,
      driverStartTicks = 215880,
      startedAt = Instant.parse("2026-11-21T09:22:27.596Z"),
      state = RunState.Finished,
      hosts = HostNames.OfNodes,
      binding = BindingMode.Required,
      launcher = Launcher.AsProcess,
      ui = Some("http://bigbox:4040"),
      scratch = Vector(Path.of("/tmp/hearth-local-numa-1795252947596-4711")),
      work = Some(work.toJson(driverPeakMb = Some(812)))
    )
    val written = record.toJson.put("pid_namespace", "pid:[4026531836]")
    val example = Json.parse(
      Files.readString(Path.of("../../contract/examples/run.json")),
      "the example"
    )
    assert(Json.pretty(written) == Json.pretty(example))
  }
}
