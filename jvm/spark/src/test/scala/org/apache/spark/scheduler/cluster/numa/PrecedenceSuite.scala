package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Files

import scala.util.Try

import org.apache.spark.SparkConf
import org.apache.spark.executor.CoarseGrainedExecutorBackend
import org.apache.spark.launcher.JavaModuleOptions
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.leases.Leases
import io.hearth.core.plan._
import io.hearth.core.topology.{IdSet, MachineSpec}
import io.hearth.driver.ApplicationToken

/** Code over command line over files, as Spark has it; what hearth derived is below all of them. */
class PrecedenceSuite extends AnyFunSuite {
  private val tables = Workload(Some(WorkloadKind.Sql), Some(1L << 34))

  /** As `hearth submit` plans for a larger machine: every key that executors can have is derived. */
  private def submitted(asked: Limits): Plan =
    Planner
      .plan(MachineSpec.parse("4 nodes of 256 GB, 6 cores"), tables, asked, IdSet.empty)
      .fold(unfit => fail(unfit.message), identity)

  /** The driver's settings under `hearth submit`, and those that SparkSubmit has left in the JVM. */
  private def withDriver(plan: Plan, users: (String, String)*)(
      check: (SparkConf, Map[String, String]) => Unit
  ): Unit = {
    val file = Files.createTempFile("hearth-plan-", ".json")
    try {
      Files.writeString(file, Json.pretty(PlanJson.write(plan)))
      val own = Map("spark.hearth.plan" -> file.toString, "spark.hearth.neighbours" -> "ignore")
      val line = plan.conf ++ own ++ users
      check(new SparkConf(false).setAll(line), line)
    } finally Files.delete(file)
  }

  private def derived(plan: Plan) = plan.conf.keySet - "spark.driver.memory"

  private def another(key: String): String = key match {
    case "spark.local.dir" => "/ssd"
    case "spark.memory.offHeap.enabled" => "false"
    case "spark.memory.offHeap.size" => "100m"
    case "spark.executor.memory" => "600m"
    case "spark.executor.memoryOverhead" => "400m"
    case k if k.contains("wait") || k.contains("interval") => "7s"
    case _ => "1"
  }

  private def applied(conf: SparkConf, before: Map[String, String], master: String): Plan = {
    val plans = new DriversPlan(conf, master, before)
    val plan = plans.fitting.beside(Leases.none).plan
    plans.settle(plan)
    LocalNumaClusterManager.applySettings(conf, plan)
    plan
  }

  test("default Java options of executors count once, and are not the program's") {
    val keys = Seq("default" -> "-XX:+UseG1GC -javaagent:a.jar", "extra" -> "-Dmine=1")
    val line = keys.map { case (kind, text) => s"spark.executor.${kind}JavaOptions" -> text }.toMap
    val conf = new SparkConf(false).setAll(line)
    // As SparkContext leaves them.
    val all = JavaModuleOptions.defaultModuleOptions +: keys.map(_._2)
    conf.set("spark.executor.extraJavaOptions", all.mkString(" "))
    val options = Vector("-XX:+UseG1GC", "-javaagent:a.jar", "-Dmine=1")
    assert(UserSettings.executorJavaOptions(conf) == options)
    assert(UserSettings.of(conf, Map.empty) == line)
    assert(UserSettings.ofProgram(conf, line).isEmpty)
  }

  test("what a program sets in code stands, for every key that hearth derives") {
    val plan = submitted(Limits.none)
    assert(derived(plan).size >= 12)
    for (key <- derived(plan)) withClue(key)(withDriver(plan) { (conf, before) =>
      conf.set(key, another(key))
      applied(conf, before, plan.master)
      assert(conf.get(key) == another(key))
    })
  }

  test("what the command line or a file sets stands, for every key that hearth derives") {
    for (key <- derived(submitted(Limits.none))) withClue(key) {
      val plan = submitted(Limits.none.copy(conf = Map(key -> another(key))))
      withDriver(plan, key -> another(key)) { (conf, before) =>
        assert(applied(conf, before, plan.master) == plan)
        assert(conf.get(key) == another(key))
      }
    }
  }

  test("settings that a plan has nothing to do with are never written") {
    val plan = submitted(Limits.none.copy(conf = Map("spark.driver.port" -> "7077")))
    withDriver(plan) { (conf, before) =>
      conf.set("spark.driver.port", "7078").set("spark.task.maxFailures", "9")
      applied(conf, before, plan.master)
      assert(conf.get("spark.driver.port") == "7078" && conf.get("spark.task.maxFailures") == "9")
    }
  }

  test("a plan is made anew with what the program fixes, and the rest of what was asked holds") {
    val plan = submitted(Limits(Some(1), None, Some(600L), Map.empty))
    withDriver(plan) { (conf, before) =>
      conf.set("spark.executor.memory", "700m")
      val got = applied(conf, before, plan.master)
      assert(got.executors.map(_.heapMb) == Vector(700L) && got.asked.memoryMb.isEmpty)
      assert(got.executors.size == 1 && got.workload == tables)
    }
    withDriver(plan) { (conf, before) =>
      conf.set("spark.executor.extraJavaOptions", "-XX:+UseG1GC")
      val options = applied(conf, before, plan.master).executors.head.javaOptions
      assert(!options.exists(_.matches("-XX:.Use.*GC")))
    }
    withDriver(plan) { (conf, before) =>
      conf.set("spark.locality.wait", "5s")
      applied(conf, before, plan.master)
      assert(!conf.contains("spark.locality.wait.node"))
    }
  }

  test("a plan holds none of the user's own Java options, which may be secrets") {
    val key = "spark.executor.extraJavaOptions"
    val options = "-Da=1 -Xss2m -Dpassword=x"
    val plan = submitted(Limits.none.copy(conf = Map(key -> options)))
    assert(plan.executors == submitted(Limits.none).executors)
    withDriver(plan, key -> options) { (conf, before) =>
      assert(applied(conf, before, plan.master) == plan)
    }
  }

  test("what the program sets and no plan can honour is refused by name") {
    val plan = submitted(Limits.none)
    for ((key, value) <- Seq("spark.task.cpus" -> "5000", "spark.executor.memory" -> "900t"))
      withDriver(plan) { (conf, before) =>
        conf.set(key, value)
        val refusal = Try(applied(conf, before, plan.master)).failed.get
        assert(refusal.getMessage.contains(key), refusal)
      }
  }

  test("variables that Spark reads count as the user's settings, in Spark's order") {
    val conf = new SparkConf(false).set("spark.local.dir", "/a").set("spark.app.name", "x")
    def of(environment: (String, String)*) = UserSettings.of(conf, environment.toMap)
    assert(of() == Map("spark.local.dir" -> "/a"))
    assert(of("SPARK_LOCAL_DIRS" -> "/b") == Map("spark.local.dir" -> "/b"))
    val both = of("SPARK_EXECUTOR_MEMORY" -> "2g", "SPARK_MEM" -> "3g")
    assert(both("spark.executor.memory") == "2g")
    conf.set("spark.executor.memory", "4g")
    assert(of("SPARK_EXECUTOR_MEMORY" -> "2g")("spark.executor.memory") == "4g")
  }

  test("an executor registers with the driver of its own application alone") {
    val words = "--driver-url spark://S@h:7 --executor-id 5 --hostname h --cores 1 --app-id app-1"
    val arguments = CoarseGrainedExecutorBackend.parseArguments(words.split(' '), "x")
    def stranger(drivers: Option[String], own: Option[String]) =
      NumaCoarseGrainedExecutorBackend.stranger(
        arguments,
        drivers.foldLeft(new SparkConf(false))(_.set(ApplicationToken.Key, _)),
        own.map(ApplicationToken.Variable -> _).toMap
      )
    assert(stranger(Some("t"), Some("t")).isEmpty)
    for ((drivers, own) <- Seq(None -> Some("t"), Some("u") -> Some("t"), None -> None))
      assert(stranger(drivers, own).exists(_.contains("does not register: at spark://S@h:7")))
  }
}
