package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{IdSet, MachineSpec}

class HearthKeysTest extends AnyFunSuite {
  private val machine = MachineSpec.parse("2 nodes of 64 GB, 8 cores")

  private def planned(key: String, value: String) = Planner.plan(
    machine,
    Workload.unknown,
    Limits.none.copy(conf = Map(key -> value)),
    IdSet.empty
  )

  test("a wrong value of a key of hearth's is refused when the plan is made, by the key's name") {
    val wrong = Seq(
      "spark.hearth.binding" -> "maybe",
      "spark.hearth.binding.scope" -> "socket",
      "spark.hearth.placement.interval" -> "-5s",
      "spark.hearth.runs.kept" -> "-1",
      "spark.hearth.launcher" -> "podman",
      "spark.hearth.hosts" -> "rack",
      "spark.hearth.workload" -> "poetry",
      "spark.hearth.input" -> "0",
      "spark.hearth.classDataArchive" -> "perhaps"
    )
    for ((key, value) <- wrong)
      assert(planned(key, value).left.exists(_.message.startsWith(s"$key: '$value'")), key)
  }

  test("a key of hearth's that does not exist is refused, with those that do") {
    val unfit = planned("spark.hearth.bindings", "off").swap.toOption
    assert(
      unfit.exists(u =>
        u.name == "spark.hearth.bindings" && u.remedy.contains("spark.hearth.binding,")
      )
    )
  }
}
