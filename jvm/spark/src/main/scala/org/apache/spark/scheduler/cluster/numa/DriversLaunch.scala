package org.apache.spark.scheduler.cluster.numa

import java.io.File
import java.nio.file.{Files, Path}

import org.apache.spark.{SecurityManager, SparkConf, SparkContext}
import org.apache.spark.internal.config.{EXECUTOR_CLASS_PATH, EXECUTOR_LIBRARY_PATH}
import org.apache.spark.launcher.JavaModuleOptions
import org.apache.spark.rpc.RpcEndpointAddress
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.util.ShutdownHookManager

import io.hearth.core.Redaction
import io.hearth.core.launch.ClassPath
import io.hearth.core.leases.LeaseRegistry
import io.hearth.core.plan.Plan
import io.hearth.driver.{ApplicationLaunch, ApplicationToken, DriverJvm, NamedPaths}
import io.hearth.plugin.DriversLog

/** What all executors of an application have in common, from its driver. */
private[spark] object DriversLaunch {

  def describe(
      sc: SparkContext,
      appId: String,
      jvm: DriverJvm,
      lease: Option[Path]
  ): ApplicationLaunch = {
    val conf = sc.conf
    ApplicationLaunch(
      appId = appId,
      java = s"${conf.getOption("spark.executorEnv.JAVA_HOME").getOrElse(jvm.javaHome)}/bin/java",
      classPath = classPath(conf, jvm),
      sparkOptions = JavaModuleOptions.defaultModuleOptionArray.toVector ++ startupOptions(conf),
      userOptions = UserSettings.executorJavaOptions(conf),
      environment = sc.executorEnvs.toMap ++ pythonPath(sc, jvm) ++
        nativePath(conf.get(EXECUTOR_LIBRARY_PATH), sc.executorEnvs.get, jvm.environment) ++
        secrets(sc) ++
        lease.map(LeaseRegistry.FileVariable -> _.toString),
      driverUrl = driverUrl(sc),
      token = conf.get(ApplicationToken.Key),
      redaction = Redaction.of(conf.getOption)
    )
  }

  /** The driver's temporary directories that there are now. */
  def temporaryDirectories(sc: SparkContext, jvm: DriverJvm): Vector[Path] = {
    val roots = (new File(jvm.temporary) +: driversLocalDirs(sc).map(_.toFile)).distinct
    val temporary = roots
      .flatMap(root => Option(root.listFiles).toVector.flatten)
      .filter(ShutdownHookManager.hasShutdownDeleteDir)
    temporary.map(_.toPath) ++ blockManagersDirs(sc)
  }

  /**
   * Local directories for executors: the driver's, unless the plan was made in the driver and has another. That came
   * too late for the driver, which has its own already.
   */
  def localDirs(sc: SparkContext, plan: Plan): Vector[Path] = {
    val drivers = driversLocalDirs(sc)
    plan.conf
      .get(LocalDir)
      .filter(sc.conf.getOption(LocalDir).contains(_))
      .map(text => Vector(Path.of(text)))
      .filter(_ != drivers)
      .fold(drivers) { planned =>
        DriversLog.info(
          s"$LocalDir=${planned.head} of the plan is for executors; the driver, which started before its plan was made, " +
            s"writes to ${drivers.mkString(", ")}"
        )
        planned
      }
  }

  private val LocalDir = "spark.local.dir"

  /** Those in which the driver's block manager could make its own. */
  private def driversLocalDirs(sc: SparkContext): Vector[Path] =
    blockManagersDirs(sc).map(_.getParent).distinct

  private def blockManagersDirs(sc: SparkContext): Vector[Path] =
    sc.env.blockManager.diskBlockManager.localDirs.toVector.map(_.toPath)

  /** What an executor must know before it can ask the driver; secrets are no part of a command line. */
  private def startupOptions(conf: SparkConf): Seq[String] =
    for {
      (key, value) <- conf.getAll.toVector
      if SparkConf.isExecutorStartupConf(key) && key != SecurityManager.SPARK_AUTH_SECRET_CONF
    } yield s"-D$key=$value"

  private def secrets(sc: SparkContext): Map[String, String] = {
    val security = sc.env.securityManager
    val shared =
      if (security.isAuthenticationEnabled())
        Map(SecurityManager.ENV_AUTH_SECRET -> security.getSecretKey())
      else Map.empty[String, String]
    shared ++ security.getEnvironmentForSslRpcPasswords
  }

  /** Where this driver listens: of a port that was taken Spark goes on to another. */
  private def driverUrl(sc: SparkContext): String =
    RpcEndpointAddress(sc.env.rpcEnv.address, CoarseGrainedSchedulerBackend.ENDPOINT_NAME).toString

  /**
   * The user's entries, this jar, then the driver's own class path: what the driver sees, executors see. What is
   * not there is left out, such as Spark's configuration directory: it stands behind the jars where `hearth submit`
   * starts the driver and before them elsewhere, and one class-data archive is to fit both.
   */
  private def classPath(conf: SparkConf, jvm: DriverJvm): Vector[String] = {
    val own = new File(getClass.getProtectionDomain.getCodeSource.getLocation.toURI).getPath
    val users = conf.get(EXECUTOR_CLASS_PATH).toVector.flatMap(_.split(File.pathSeparator))
    val drivers = jvm.classPath.filter(new File(_).exists)
    ClassPath.collapse((users ++ (own +: drivers)).distinct, ClassPath.jarsOf)
  }

  /** With the folder of the driver's Python program, where the driver looks for modules first. */
  private def pythonPath(sc: SparkContext, jvm: DriverJvm): Map[String, String] =
    NamedPaths
      .program(jvm.command, jvm.parent)
      .map(jvm.directory.resolve(_))
      .filter(Files.isRegularFile(_))
      .map { program =>
        val set = sc.executorEnvs.get("PYTHONPATH").orElse(jvm.environment("PYTHONPATH"))
        val folder = program.toRealPath().getParent.toString
        "PYTHONPATH" -> (set.toVector.filter(_.nonEmpty) :+ folder).mkString(File.pathSeparator)
      }
      .toMap

  /** What is added stands before what is named for executors and what they inherit (Spark's `CommandUtils`). */
  private[numa] def nativePath(
      added: Option[String],
      named: String => Option[String],
      inherited: String => Option[String]
  ): Map[String, String] = {
    val name = "LD_LIBRARY_PATH"
    added
      .map(path => name -> (Vector(path) ++ named(name) ++ inherited(name)).mkString(":"))
      .toMap
  }
}
