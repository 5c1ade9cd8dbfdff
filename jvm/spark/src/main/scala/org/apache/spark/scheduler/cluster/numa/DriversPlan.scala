package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import scala.util.Try

import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{
  ConfigBuilder,
  EXECUTOR_CORES,
  EXECUTOR_INSTANCES,
  EXECUTOR_MEMORY
}

import io.hearth.core.Counted
import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.plan.{BindingMode, Coexistence, Fitting, HearthKeys, JvmEnvironment}
import io.hearth.core.plan.{Limits, Plan, PlanJson, PlanLease, PlanMode, Workload}
import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology, TopologyReader}
import io.hearth.driver.{Leased, MasterUrl}

/**
 * What an application's plan is made of, in its driver: the plan that was made for it, or its settings.
 *
 * @param submitted settings of the command line and the files, by [[UserSettings.ofProgram]]
 * @throws UserError when the master, a key or the plan file is wrong
 */
final private[spark] class DriversPlan(
    conf: SparkConf,
    master: String,
    submitted: Map[String, String]
) extends Logging {
  DriversPlan.registered
  HearthKeys.all.foreach(_.set(conf.getOption))
  private val url = MasterUrl.parse(master)
  private val earlier = HearthKeys.PlanFile.set(conf.getOption).map(f => readPlan(Path.of(f)))

  /** Settings of the program's own on which the earlier plan rests: it has the last word, as with Spark. */
  private val programs = earlier.fold(Set.empty[String]) { _ =>
    UserSettings.ofProgram(conf, submitted).keySet
  }
  if (programs.nonEmpty)
    logWarning(
      s"The program sets ${programs.toVector.sorted.mkString(", ")}, on which the plan in " +
        s"${HearthKeys.PlanFile.name} depends: planning again"
    )

  def fitting: Fitting = {
    val users = conf.clone
    earlier.foreach(withdraw(users, _))
    val said = earlier.fold(Workload.unknown)(_.workload)
    val workload = said.copy(
      kind = HearthKeys.WorkloadKind.set(users.getOption).orElse(said.kind),
      inputBytes = HearthKeys.InputSize.set(users.getOption).orElse(said.inputBytes)
    )
    val limits = earlier
      .fold(Limits(url.executors, url.cores, None, Map.empty))(fixedFor)
      .copy(
        conf = UserSettings.of(users, sys.env),
        environment = sys.env.filter { case (name, _) => JvmEnvironment.Variables.contains(name) }
      )
    new Fitting(
      machine,
      workload,
      limits,
      if (HearthKeys.Neighbours.in(users.getOption) == "ignore") Neighbours.none
      else Neighbours.running(Path.of("/")),
      Scratch.live(),
      earlier = earlier.filter(_ => programs.isEmpty),
      whose = s"master '$master': "
    )
  }

  /** What runs instead of what was planned, and shown, before Spark started; None where that is the same. */
  def change(leased: Leased): Option[String] = earlier.flatMap { old =>
    val off = HearthKeys.Binding.in(conf.getOption) == BindingMode.Off
    val shared = old.reasons.exists(r => Coexistence.Full(r.decision))
    val planned = DriversPlan.shape(old, off || shared)
    val runs = DriversPlan.shape(leased.plan, off || leased.unbound)
    val why =
      if (programs.isEmpty) "what others hold has changed since"
      else s"the program sets ${programs.toVector.sorted.mkString(", ")}"
    Option.when(runs != planned)(s"The plan is now $runs, and was $planned: $why")
  }

  /** What was derived for the earlier plan goes from the settings where another one is carried out. */
  def settle(plan: Plan): Unit = earlier.filter(_ ne plan).foreach { old =>
    if (programs.isEmpty)
      logWarning(
        s"Leases have changed since the plan in ${HearthKeys.PlanFile.name} was made: planned again"
      )
    withdraw(conf, old)
  }

  /** `hearth submit` may have bound this driver to a part of the CPUs that it planned for. */
  private def machine: Topology = {
    val whole = TopologyReader.load(None)
    earlier.fold(whole) { plan =>
      val cpus = DriversPlan.allowed(conf).getOrElse(plan.driver.cpus | PlanLease.cpus(plan))
      whole.copy(allowed = whole.allowed.copy(cpus = cpus))
    }
  }

  /** A derived setting is not the user's. */
  private def withdraw(from: SparkConf, plan: Plan): Unit =
    plan.conf.foreach { case (key, value) =>
      if (!programs.contains(key) && from.getOption(key).contains(value)) from.remove(key)
    }

  /** The options of hearth's that the program leaves in force. */
  private def fixedFor(plan: Plan): Limits = {
    val users = if (url == MasterUrl.parse(plan.master)) MasterUrl(None, None) else url
    Limits(
      plan.asked.executors.orElse(users.executors).filterNot(_ => programs(EXECUTOR_INSTANCES.key)),
      plan.asked.cores.orElse(users.cores).filterNot(_ => programs(EXECUTOR_CORES.key)),
      plan.asked.memoryMb.filterNot(_ => programs(EXECUTOR_MEMORY.key)),
      Map.empty
    )
  }

  private def readPlan(file: Path): Plan = {
    val text = Try(Files.readString(file)).getOrElse(
      throw new UserError(s"spark.hearth.plan: $file cannot be read; remove the key to plan anew")
    )
    val plan = PlanJson.read(Json.parse(text, file.toString))
    val executors = plan.executors.size
    if (url.executors.exists(_ != executors))
      throw new UserError(
        s"spark.hearth.plan: $file has ${Counted(executors, "executor")}, the master asks for ${url.executors.get}; " +
          "use master local-numa, or remove the key to plan anew"
      )
    plan
  }
}

private[spark] object DriversPlan {

  /** Known to Spark as settings of the application's: a session's `SET` refuses them. */
  private lazy val registered: Unit = HearthKeys.all.foreach { key =>
    ConfigBuilder(key.name).doc(key.doc).version(key.since).stringConf.createOptional
  }

  private def shape(plan: Plan, unbound: Boolean): String = {
    val kind = if (unbound) "unbound executor" else "bound executor"
    val what =
      if (plan.mode == PlanMode.Native) "one JVM" else Counted(plan.executors.size, kind)
    s"$what with ${Counted(plan.executors.map(_.taskSlots).sum, "task slot")} in all"
  }

  /** CPUs that `hearth submit` may use, where it has bound this driver to a part of them. */
  def allowed(conf: SparkConf): Option[IdSet] =
    conf.getOption(HearthKeys.AllowedCpus).flatMap(IdSet.parse(_).toOption).filter(_.nonEmpty)
}
