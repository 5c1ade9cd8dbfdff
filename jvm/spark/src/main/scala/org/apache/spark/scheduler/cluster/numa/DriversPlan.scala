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
import io.hearth.core.leases.Leases
import io.hearth.core.plan.{Coexistence, Fitted, HearthKeys, JvmEnvironment, Limits, Others, Plan}
import io.hearth.core.plan.{PlanJson, PlanLease, Workload}
import io.hearth.core.topology.{IdSet, Neighbours, Scratch, Topology, TopologyReader}
import io.hearth.driver.MasterUrl

/** The plan of an application, in its driver: the one that was made for it, or one made here. */
private[spark] object DriversPlan extends Logging {

  /** Known to Spark as settings of the application's: a session's `SET` refuses them. */
  private lazy val registered: Unit = HearthKeys.all.foreach { key =>
    ConfigBuilder(key.name).doc(key.doc).version(key.since).stringConf.createOptional
  }

  /** @throws UserError when the master, a key or the plan file is wrong, or nothing fits the machine */
  def planFor(conf: SparkConf, master: String): Plan = planFor(conf, master, sys.props.toMap)

  /** @param submitted settings of the command line and the files, by [[UserSettings.ofProgram]] */
  def planFor(conf: SparkConf, master: String, submitted: Map[String, String]): Plan =
    fitting(conf, master, submitted)(Leases.none).plan

  /**
   * What plans beside the leases that there are. A plan that was made earlier is used while what it takes is
   * free, else it is made anew.
   *
   * @param submitted settings of the command line and the files, by [[UserSettings.ofProgram]]
   */
  def fitting(
      conf: SparkConf,
      master: String,
      submitted: Map[String, String]
  ): Leases => Fitted = {
    registered
    HearthKeys.all.foreach(_.set(conf.getOption))
    val url = MasterUrl.parse(master)
    HearthKeys.PlanFile.set(conf.getOption) match {
      case Some(file) =>
        val plan = readPlan(Path.of(file), url)
        followed(conf, master, plan, UserSettings.ofProgram(conf, submitted).keySet)
      case None =>
        val asked = Limits(url.executors, url.cores, None, Map.empty)
        val machine = TopologyReader.load(None)
        makePlan(conf, master, machine, Workload.unknown, asked)
    }
  }

  /**
   * A plan as it was made, or one made anew where the program itself sets what the plan rests on: the
   * program has the last word, as with Spark.
   */
  private def followed(
      conf: SparkConf,
      master: String,
      plan: Plan,
      programs: Set[String]
  ): Leases => Fitted = {
    val anew = (machine: Topology) => {
      withdraw(conf, plan, programs)
      makePlan(conf, master, machine, plan.workload, asked(plan, MasterUrl.parse(master), programs))
    }
    if (programs.isEmpty) {
      lazy val machine = machineOf(conf, plan)
      leases =>
        if (leases.isEmpty && !shares(plan) || stillFree(plan, machine, leases))
          Fitted(plan, None, unbound = false)
        else replanned(anew(machine), leases)
    } else {
      logInfo(
        s"The program sets ${programs.toVector.sorted.mkString(", ")}, on which the plan in " +
          s"${HearthKeys.PlanFile.name} depends: planning again"
      )
      anew(machineOf(conf, plan))
    }
  }

  private def shares(plan: Plan): Boolean = plan.reasons.exists(r => Coexistence.Full(r.decision))

  private def stillFree(plan: Plan, machine: Topology, leases: Leases): Boolean =
    !shares(plan) && PlanLease.isFree(plan, machine, leases)

  private def replanned(make: Leases => Fitted, leases: Leases): Fitted = {
    logInfo(
      s"Leases have changed since the plan in ${HearthKeys.PlanFile.name} was made: planning again"
    )
    make(leases)
  }

  /** `hearth submit` may have bound this driver to a part of the CPUs that it planned for. */
  private def machineOf(conf: SparkConf, plan: Plan): Topology = {
    val machine = TopologyReader.load(None)
    val own = plan.driver.cpus | PlanLease.cpus(plan)
    val cpus = allowed(conf).getOrElse(own)
    machine.copy(allowed = machine.allowed.copy(cpus = cpus))
  }

  /** CPUs that `hearth submit` may use, where it has bound this driver to a part of them. */
  def allowed(conf: SparkConf): Option[IdSet] =
    conf.getOption(HearthKeys.AllowedCpus).flatMap(IdSet.parse(_).toOption).filter(_.nonEmpty)

  /** Takes back what was derived for the other plan; a derived setting is not the user's. */
  private def withdraw(conf: SparkConf, plan: Plan, programs: Set[String]): Unit =
    plan.conf.foreach { case (key, value) =>
      if (!programs.contains(key) && conf.getOption(key).contains(value)) conf.remove(key)
    }

  /** The options of hearth's that the program leaves in force. */
  private def asked(plan: Plan, url: MasterUrl, programs: Set[String]): Limits = {
    val users = if (url == MasterUrl.parse(plan.master)) MasterUrl(None, None) else url
    Limits(
      plan.asked.executors.orElse(users.executors).filterNot(_ => programs(EXECUTOR_INSTANCES.key)),
      plan.asked.cores.orElse(users.cores).filterNot(_ => programs(EXECUTOR_CORES.key)),
      plan.asked.memoryMb.filterNot(_ => programs(EXECUTOR_MEMORY.key)),
      Map.empty
    )
  }

  /** @param said what was said of the application where the settings say nothing */
  private def makePlan(
      conf: SparkConf,
      master: String,
      machine: Topology,
      said: Workload,
      asked: Limits
  ): Leases => Fitted = {
    val workload = said.copy(
      kind = HearthKeys.WorkloadKind.set(conf.getOption).orElse(said.kind),
      inputBytes = HearthKeys.InputSize.set(conf.getOption).orElse(said.inputBytes)
    )
    val limits = asked.copy(
      conf = UserSettings.of(conf, sys.env),
      environment = sys.env.filter { case (name, _) => JvmEnvironment.Variables.contains(name) }
    )
    leases =>
      Coexistence
        .fit(
          machine,
          workload,
          limits,
          IdSet.empty,
          Others(neighbours(conf), leases),
          Scratch.live()
        )
        .fold(unfit => throw new UserError(s"master '$master': ${unfit.message}"), identity)
  }

  private def neighbours(conf: SparkConf): Neighbours =
    if (HearthKeys.Neighbours.in(conf.getOption) == "ignore") Neighbours.none
    else Neighbours.running(Path.of("/proc"))

  private def readPlan(file: Path, url: MasterUrl): Plan = {
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
