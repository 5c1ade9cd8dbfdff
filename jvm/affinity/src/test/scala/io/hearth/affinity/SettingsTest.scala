package io.hearth.affinity

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** What the agent's argument and the environment ask for. */
class SettingsTest extends AnyFunSuite {

  private def settings(argument: String, environment: (String, String)*): Settings =
    Settings.parse(argument, environment.toMap.asJava, "ppc64le")

  test("the argument comes before the environment, and that before the architecture's default") {
    val env = Vector("HEARTH_AFFINITY_POLICY" -> "o2ocs", "HEARTH_AFFINITY_DEVICE" -> "ib0")
    assert(settings("").policy.toString == "o2acs")
    assert(settings("", env: _*).policy.toString == "o2ocs")
    val both = settings("policy=near-threads, first=3", env: _*)
    assert(
      both.policy.toString == "near-threads:8" && both.first.toScala.map(_.intValue).contains(3)
    )
    assert(both.device.toScala.contains("ib0"))
  }

  test("the study's default holds on POWER, where it was measured; elsewhere the device's node") {
    def policy(architecture: String) =
      Settings.parse("", Map.empty[String, String].asJava, architecture).policy.toString
    assert(policy("ppc64le") == "o2acs")
    assert(policy("amd64") == "near-all" && policy("aarch64") == "near-all")
  }

  test("names of software and beginnings of names say which threads are meant") {
    val all = settings("").threads
    for (
      name <- Vector(
        "rpc-server-1-1",
        "shuffle-client-",
        "IPC Client (123",
        "Socket Reader #",
        "DataXceiver for"
      )
    )
      assert(all.include(name), name)
    val makers =
      Vector("dispatcher-Exec", "dispatcher-even") // of task threads, which inherit their CPUs
    for (name <- makers ++ Vector("main", "Executor task l", "GC Thread#0", "ForkJoinPool-1-"))
      assert(!all.include(name), name)
    val some = settings("threads=hadoop:my-pool-").threads
    assert(some.include("my-pool-7") && some.include("IPC Server hand"))
    assert(!some.include("rpc-server-1-1"))
  }

  test("what is no setting is refused by name") {
    def refusal(argument: String) = intercept[Refused](settings(argument)).getMessage
    assert(
      refusal("polcy=o2acs").startsWith(
        "'polcy=o2acs' is not a setting: write device=..., peer=..."
      )
    )
    assert(refusal("first=x").contains("'x' is not a number"))
    assert(refusal("threads=a::b").contains("an empty beginning"))
  }
}
