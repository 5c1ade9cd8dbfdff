package org.apache.spark.scheduler.cluster.numa

import java.io.{File, IOException}
import java.nio.file.{FileAlreadyExistsException, Files, Path}
import java.time.Instant
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._

import org.apache.spark.{SecurityManager, SparkConf, SparkContext, SPARK_VERSION}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config._
import org.apache.spark.launcher.JavaModuleOptions
import org.apache.spark.rpc.{RpcAddress, RpcEndpointAddress}
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.shuffle.numa.NumaShuffleManager
import org.apache.spark.util.{ShutdownHookManager, Utils}

import io.hearth.core.UserError
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.launch._
import io.hearth.core.placement.PlacementReport
import io.hearth.core.plan.{ExecutorPlan, Plan, PlanJson}
import io.hearth.spark._

/**
 * What belongs to one application while it runs: its record, its scratch directories, the reaper that
 * outlives it, and how its executors are started.
 */
private[spark] class RunningApplication(sc: SparkContext, val appId: String, plan: Plan)
    extends Logging {

  private val conf: SparkConf = sc.conf
  private val binding = conf.get(HearthConfig.BindingMode)
  private val launcher = conf.get(HearthConfig.Launcher)
  private val startedAt = Instant.now()
  private val runs = conf
    .get(HearthConfig.RunsDirectory)
    .map(Path.of(_))
    .getOrElse(
      RunDirectory.root(name => Option(System.getenv(name)), System.getProperty("user.home"))
    )
  private val scratch =
    Utils.getConfiguredLocalDirs(conf).toVector.map(dir => Path.of(dir, s"hearth-$appId"))
  private val toldReaper = ConcurrentHashMap.newKeySet[Path]()

  private lazy val run = createRun()
  private lazy val reaper = Reaper.start()
  private lazy val launch = describeLaunch()
  private lazy val archive = chooseArchive()
  private val archiveWriterStarted = new AtomicBoolean(false)
  private val resources = new ExecutorResources(conf, plan)
  private lazy val logs = new ExecutorLogs(sc, run)

  /** Makes the record and the scratch directories; nothing is started yet. @throws UserError */
  def open(): Unit = {
    if (launcher == "docker") Docker.prepare()
    resources.check()
    RunSweep.sweep(runs, conf.get(HearthConfig.RunsKept), remove).foreach(line => logInfo(line))
    run.writePlan(PlanJson.write(plan))
    writeRecord("running")
    reaper.markAbandoned(run.run)
    scratch.foreach(createScratch)
    conf.set(NumaShuffleManager.RegistryKey, run.path.resolve("executors").toString)
    conf.setIfMissing(SHUFFLE_MANAGER, classOf[NumaShuffleManager].getName)
    tellReaperOfDriver()
    logs.attach()
    archive match {
      case ArchiveUse.Without(reason) => logInfo(s"No class-data archive for executors: $reason")
      case _ =>
    }
    logInfo(s"hearth keeps this run in ${run.path}")
  }

  /** Starts an executor in its place, bound as `spark.hearth.binding` says. Called by the pool's thread. */
  def startExecutor(id: String, place: ExecutorPlan): Member = {
    val executor = describeExecutor(id, place)
    (executor.workDirectory +: executor.temporary +: executor.localDirs)
      .foreach(Files.createDirectories(_))
    val (process, bound) = startProcess(executor)
    val ticks = PlacementReport.startTicks(Path.of("/proc"), process.pid).getOrElse(0L)
    reaper.watch(process.pid, ticks)
    val where =
      if (bound) s"bound to CPUs ${place.cpus}, memory nodes ${place.memoryNodes}" else "not bound"
    logInfo(s"Started executor $id in place ${place.id} as process ${process.pid}, $where")
    Member(id, place, process, ticks, bound)
  }

  /** What an executor's end means for the class-data archive that one of them writes. */
  def executorEnded(): Unit = archive match {
    case write: ArchiveUse.Write if write.publish() =>
      logInfo(
        s"Wrote the class-data archive ${write.archive}: executors of later runs start from it"
      )
    case _ =>
  }

  /** Whether an executor writes the class-data archive when it ends, which takes some seconds more. */
  def writesArchive: Boolean = archiveWriterStarted.get

  def stderrOf(executorId: String): Path = run.executor(executorId).resolve("stderr")

  def record(report: PlacementReport): Unit = run.writePlacement(report.toJson)

  /**
   * Names the driver's own temporary directories to the reaper and in the record, those that were made
   * since included: the next application removes them should the reaper be killed too.
   */
  def tellReaperOfDriver(): Unit = {
    val fresh = driverDirectories.filter(toldReaper.add)
    fresh.foreach(reaper.removeLater)
    if (fresh.nonEmpty) writeRecord("running")
  }

  /** All executors have ended. */
  def close(): Unit = {
    scratch.foreach(remove)
    writeRecord("finished")
    reaper.close()
  }

  private def createRun(): RunDirectory =
    try RunDirectory.create(runs, appId)
    catch {
      case e: FileAlreadyExistsException =>
        throw new UserError(
          s"spark.app.id: '$appId' is the name of an earlier run in $runs; choose another or none",
          Some(e)
        )
      case e: IOException =>
        throw new UserError(
          s"${HearthConfig.RunsDirectory.key}: a run cannot be kept in $runs: ${e.getMessage}; " +
            "name a directory that can be written",
          Some(e)
        )
    }

  private def createScratch(dir: Path): Unit = {
    reaper.removeLater(dir)
    try {
      Files.createDirectories(dir)
      Utils.chmod700(dir.toFile)
      ()
    } catch {
      case e: IOException =>
        throw new UserError(
          s"spark.local.dir: $dir cannot be made: ${e.getMessage}; name a directory with free space",
          Some(e)
        )
    }
  }

  private def driverDirectories: Vector[Path] = {
    val roots =
      (System.getProperty("java.io.tmpdir") +: Utils.getConfiguredLocalDirs(conf).toVector).distinct
    val temporary = roots
      .flatMap(root => Option(new File(root).listFiles).toVector.flatten)
      .filter(ShutdownHookManager.hasShutdownDeleteDir)
    (temporary ++ sc.env.blockManager.diskBlockManager.localDirs).map(_.toPath)
  }

  /** The first executor writes the archive where there is none, one alone. */
  private def archiveOptions: Vector[String] = archive match {
    case write: ArchiveUse.Write =>
      if (archiveWriterStarted.compareAndSet(false, true)) {
        reaper.removeLater(write.partial)
        write.options
      } else Vector.empty
    case other => other.options
  }

  private def chooseArchive(): ArchiveUse =
    if (!conf.get(HearthConfig.ClassDataArchive))
      ArchiveUse.Without(s"${HearthConfig.ClassDataArchive.key} is false")
    else {
      val directory =
        ClassDataArchive.directory(
          name => Option(System.getenv(name)),
          System.getProperty("user.home")
        )
      val java = s"${launch.java} ${System.getProperty("java.vm.version")}"
      ClassDataArchive.use(directory, launch.classPath, java, appId)
    }

  private def startProcess(executor: ExecutorLaunch): (Process, Boolean) = {
    val spec = ExecutorLaunch.compose(
      launch,
      executor,
      archiveOptions,
      resources.writeFile(executor.place, executor.workDirectory)
    )
    if (launcher == "docker") {
      val container = Docker.containerName(s"hearth-$appId-${executor.id}")
      (Docker.start(spec, container), spec.binding.isDefined)
    } else startBound(spec, executor)
  }

  private def startBound(spec: LaunchSpec, executor: ExecutorLaunch): (Process, Boolean) =
    try (BoundLauncher.start(spec), spec.binding.isDefined)
    catch {
      case refused: BindingRefused if binding == "preferred" =>
        logWarning(s"Executor ${executor.id} goes on unbound: ${refused.getMessage}")
        (BoundLauncher.start(spec.copy(binding = None)), false)
      case refused: BindingRefused =>
        throw new UserError(
          s"${refused.getMessage}; or set spark.hearth.binding=preferred to go on unbound",
          Some(refused)
        )
    }

  private def describeExecutor(id: String, place: ExecutorPlan): ExecutorLaunch = ExecutorLaunch(
    id = id,
    place = place,
    host =
      if (conf.get(HearthConfig.Hosts) == "machine") Utils.localCanonicalHostName() else place.host,
    bound = binding != "off",
    workDirectory = scratch.head.resolve(id).resolve("work"),
    temporary = scratch.head.resolve(id).resolve("tmp"),
    localDirs = scratch.map(_.resolve(id)),
    logs = run.createExecutor(id),
    logUrl = logs.urlFor(id)
  )

  private def describeLaunch(): ApplicationLaunch = {
    val javaHome =
      conf.getOption("spark.executorEnv.JAVA_HOME").getOrElse(System.getProperty("java.home"))
    ApplicationLaunch(
      appId = appId,
      java = s"$javaHome/bin/java",
      classPath = executorClassPath,
      sparkOptions = JavaModuleOptions.defaultModuleOptionArray.toVector ++ startupOptions,
      userOptions = UserSettings.executorJavaOptions(conf),
      environment = sc.executorEnvs.toMap ++ libraryPath ++ secrets,
      driverUrl = driverUrl
    )
  }

  /** What an executor must know before it can ask the driver; secrets are no part of a command line. */
  private def startupOptions: Seq[String] =
    Utils
      .sparkJavaOpts(conf, SparkConf.isExecutorStartupConf)
      .filterNot(_.startsWith(s"-D${SecurityManager.SPARK_AUTH_SECRET_CONF}="))

  private def secrets: Map[String, String] = {
    val security = sc.env.securityManager
    val shared =
      if (security.isAuthenticationEnabled())
        Map(SecurityManager.ENV_AUTH_SECRET -> security.getSecretKey())
      else Map.empty[String, String]
    shared ++ security.getEnvironmentForSslRpcPasswords
  }

  private def driverUrl: String = {
    val address = RpcAddress(conf.get(DRIVER_HOST_ADDRESS), conf.get(DRIVER_PORT))
    RpcEndpointAddress(address, CoarseGrainedSchedulerBackend.ENDPOINT_NAME).toString
  }

  /** The user's entries, this jar, then the driver's own class path: what the driver sees, executors see. */
  private def executorClassPath: Vector[String] = {
    val own = new File(getClass.getProtectionDomain.getCodeSource.getLocation.toURI).getPath
    val users = conf.get(EXECUTOR_CLASS_PATH).toVector.flatMap(_.split(File.pathSeparator))
    val drivers = System.getProperty("java.class.path").split(File.pathSeparator).toVector
    ClassPath.collapse((users ++ (own +: drivers)).distinct, ClassPath.jarsOf)
  }

  private def libraryPath: Map[String, String] =
    conf
      .get(EXECUTOR_LIBRARY_PATH)
      .map(path =>
        "LD_LIBRARY_PATH" -> (path +: Option(System.getenv("LD_LIBRARY_PATH")).toVector)
          .mkString(":")
      )
      .toMap

  private def writeRecord(state: String): Unit = {
    val pid = ProcessHandle.current.pid
    run.writeRun(
      RunRecord(
        appId = appId,
        name = sc.appName,
        master = sc.master,
        sparkVersion = SPARK_VERSION,
        machine = RunRecord.thisMachine,
        driverPid = pid,
        driverStartTicks = PlacementReport.startTicks(Path.of("/proc"), pid).getOrElse(0L),
        startedAt = startedAt,
        state = state,
        hosts = conf.get(HearthConfig.Hosts),
        binding = binding,
        launcher = launcher,
        ui = sc.uiWebUrl,
        scratch = scratch ++ toldReaper.asScala.toVector.sorted
      ).toJson
    )
  }

  private def remove(path: Path): Unit = Utils.deleteRecursively(path.toFile)
}
