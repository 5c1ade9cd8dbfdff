package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Files

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.leases.{Lease, LeaseState, Leases, LiveLease}
import io.hearth.core.plan.{HearthKeys, HostNames, Plan, PlanJson, PlanLease}
import io.hearth.core.topology.{IdSet, TopologyReader}
import io.hearth.driver._

/** What the user asks for by master and settings is understood, or refused by name before anything starts. */
class SettingsSuite extends AnyFunSuite {

  private def conf(pairs: (String, String)*): SparkConf =
    new SparkConf(false).set("spark.hearth.neighbours", "ignore").setAll(pairs)

  private def refusal(master: String, pairs: (String, String)*): String =
    intercept[RuntimeException](planned(conf(pairs: _*), master)).getMessage

  private def planned(conf: SparkConf, master: String): Plan =
    new DriversPlan(conf, master, Map.empty).fitting.beside(Leases.none).plan

  test("what cannot be done is refused by name") {
    assert(refusal("local-numa[0]").contains("master 'local-numa[0]' is not supported"))
    assert(refusal("local-numa[two]").contains("local-numa[4x12] (4 executors of 12 cores)"))
    assert(refusal("local-numa[999x999]").startsWith("master 'local-numa[999x999]': "))
    assert(
      refusal("local-numa[1x1]", "spark.executor.memory" -> "900t")
        .contains("spark.executor.memory")
    )
    assert(refusal("local-numa", "spark.hearth.hosts" -> "rack").contains("spark.hearth.hosts"))
    assert(
      refusal("local-numa", "spark.hearth.plan" -> "/no/such/plan")
        .contains("/no/such/plan cannot be read")
    )
  }

  test(
    "a library path that is added hides neither the one of executors' environment nor the inherited one"
  ) {
    def of(added: Option[String], named: Option[String]) =
      DriversLaunch.nativePath(added, _ => named, _ => Some("/inherited"))
    assert(of(Some("/a"), Some("/b")) == Map("LD_LIBRARY_PATH" -> "/a:/b:/inherited"))
    assert(of(Some("/a"), None) == Map("LD_LIBRARY_PATH" -> "/a:/inherited"))
    assert(of(None, Some("/b")).isEmpty)
  }

  test(
    "where this machine lacks the addresses of hosts, all executors have its own, unless the user insists"
  ) {
    val missing = HostAddresses.missing(Vector("127.0.0.1", "198.51.100.1"))
    assert(missing.exists(_.startsWith("198.51.100.1: Cannot assign requested address")))
    assert(HostAddresses.missing(Vector("127.0.0.1")).isEmpty)
    val usual = conf()
    val said = LocalNumaClusterManager.settleHosts(usual, missing)
    assert(
      said.exists(_.contains("because 198.51.100.1: Cannot assign")) && HearthKeys.Hosts.in(
        usual.getOption
      ) == HostNames.OfMachine
    )
    val insisting = conf("spark.hearth.hosts" -> "node")
    val refused =
      intercept[UserError](LocalNumaClusterManager.settleHosts(insisting, missing)).getMessage
    assert(refused.startsWith("spark.hearth.hosts=node: ") && refused.contains("leave the key out"))
    assert(
      LocalNumaClusterManager.settleHosts(conf("spark.hearth.hosts" -> "machine"), missing).isEmpty
    )
    assert(LocalNumaClusterManager.settleHosts(conf(), None).isEmpty)
  }

  test("one JVM has no GPUs to give, and says what else to ask for") {
    val gpu = conf("spark.task.resource.gpu.amount" -> "1")
    val message = intercept[RuntimeException](ExecutorResources.refuse(gpu)).getMessage
    assert(message.startsWith("spark.task.resource.gpu.amount: the plan is one JVM"))
    assert(message.contains("local-numa[N]"))
  }

  test(
    "a plan made earlier holds while what it takes is free, else it is made anew around who took it"
  ) {
    val file = Files.createTempFile("hearth-plan", ".json")
    val made = planned(conf(), "local-numa[1x1]")
    Files.writeString(file, Json.pretty(PlanJson.write(made)))
    val set = conf("spark.hearth.plan" -> file.toString)
      .setAll(made.conf)
      .set("spark.hearth.internal.cpus", made.driver.cpus.toString + "," + PlanLease.cpus(made))
    val plans = new DriversPlan(set, made.master, set.getAll.toMap)
    val fitting = plans.fitting
    def leased(cpus: IdSet) = Leases(
      Vector(
        LiveLease(
          Lease("b", LeaseState.Holds, "app-7", "n", 1, 1, 1, cpus, Map.empty),
          "bob",
          ours = false
        )
      )
    )
    assert(fitting.beside(Leases.none).plan == made)
    assert(fitting.beside(leased(IdSet(65000))).plan == made)
    val anew = fitting.beside(leased(PlanLease.cpus(made)))
    assert(anew.unbound || !PlanLease.cpus(anew.plan).intersects(PlanLease.cpus(made)))
    assert(anew.plan.reasons.exists(_.because.contains("app-7 of bob")))
    assert(fitting.beside(leased(TopologyReader.load(None).cpus)).unbound)
    assert(plans.change(Leased(made, None, unbound = false)).isEmpty)
    val said = plans.change(Leased(made, None, unbound = true)).get
    assert(
      said.startsWith("The plan is now 1 unbound executor with 1 task slot in all, and was 1 bound")
    )
    Files.delete(file)
  }

  test("an application survives as many losses as the user says, else as on a standalone cluster") {
    assert(Wiring.lossHistory(conf()) == LossHistory(LossLimit.InARow(10), None))
    val set =
      conf("spark.executor.maxNumFailures" -> "1", "spark.deploy.maxExecutorRetries" -> "3")
    assert(Wiring.lossHistory(set).limit == LossLimit.InAll(1))
    val recent = conf("spark.executor.failuresValidityInterval" -> "2s")
    assert(Wiring.lossHistory(recent).validMs.contains(2000L))
  }
}
