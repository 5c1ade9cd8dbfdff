package org.apache.spark.scheduler.cluster.numa

import java.io.{File, IOException}
import java.nio.file.{FileAlreadyExistsException, Files, Path}
import java.time.Instant
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import org.apache.spark.{SecurityManager, SparkConf, SparkContext, SPARK_VERSION}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config._
import org.apache.spark.launcher.JavaModuleOptions
import org.apache.spark.rpc.RpcEndpointAddress
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.shuffle.numa.NumaShuffleManager
import org.apache.spark.util.{ShutdownHookManager, Utils}

import io.hearth.core.{Redaction, UserError}
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.files.OwnFiles
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
  private val redaction = Redaction.of(conf.getOption)
  private val startedAt = Instant.now()
  private val runsChosen = conf.get(HearthConfig.RunsDirectory)
  private val scratch =
    Utils.getConfiguredLocalDirs(conf).toVector.map(dir => Path.of(dir, s"hearth-$appId"))
  private val toldReaper = ConcurrentHashMap.newKeySet[Path]()

  private val keeping = new Bookkeeping(
    s"The application goes on, but hearth cannot keep all of it where ${HearthConfig.RunsDirectory.key} " +
      s"says (${runsChosen.getOrElse("left at its default")})",
    logWarning(_)
  )
  private val clearing = new Bookkeeping(
    "Should this driver be killed, its temporary directories stay until the next application here removes " +
      "them",
    logWarning(_)
  )

  private lazy val runs = runsChosen
    .map(Path.of(_))
    .getOrElse(
      RunDirectory.root(name => Option(System.getenv(name)), System.getProperty("user.home"))
    )
  private lazy val run = keeping.attempt(createRun()).getOrElse(createUnkeptRun())
  @volatile private var unkept = false
  private lazy val reaper = clearing.attempt(Reaper.start())
  private lazy val launch = describeLaunch()
  private lazy val archive = chooseArchive()
  private val archiveWriter = new AtomicReference[Option[(String, Option[Process])]](None)
  private val archiving = new Bookkeeping("Executors of later runs start slower", logWarning(_))
  private val resources = new ExecutorResources(conf, plan)
  private lazy val logs = new ExecutorLogs(sc, logsOf)
  // Written by the pool's thread, read by the UI's.
  private val logDirectories = new ConcurrentHashMap[String, Path]()

  /** Makes the record and the scratch directories; nothing is started yet. @throws UserError */
  def open(): Unit = {
    if (launcher == "docker") Docker.prepare()
    resources.check()
    keeping
      .attempt(RunSweep.sweep(runs, conf.get(HearthConfig.RunsKept), remove))
      .foreach(_.foreach(line => logInfo(line)))
    keeping.attempt(run.writePlan(PlanJson.write(PlanJson.shown(plan, redaction))))
    writeRecord("running")
    keeping.attempt(run.reserve())
    tellReaper(_.markAbandoned(run.run))
    scratch.foreach(createScratch)
    conf.set(NumaShuffleManager.RegistryKey, scratch.head.toString)
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
    archiveWriter.updateAndGet(_.map {
      case (`id`, _) => id -> Some(process)
      case other => other
    })
    val ticks = PlacementReport.startTicks(Path.of("/proc"), process.pid).getOrElse(0L)
    tellReaper(_.watch(process.pid, ticks))
    val where =
      if (bound) s"bound to CPUs ${place.cpus}, memory nodes ${place.memoryNodes}" else "not bound"
    logInfo(s"Started executor $id in place ${place.id} as process ${process.pid}, $where")
    Member(id, place, process, ticks, bound)
  }

  /** What the executors' end means for the class-data archive that one of them writes. */
  def executorsEnded(): Unit = (archive, archiveWriter.get) match {
    case (write: ArchiveUse.Write, Some((_, Some(writer)))) if !writer.isAlive =>
      if (archiving.attempt(write.publish(writer.exitValue)).contains(true))
        logInfo(
          s"Wrote the class-data archive ${write.archive}: executors of later runs start from it"
        )
    case _ =>
  }

  /** Whether an executor writes the class-data archive when it ends, which takes some seconds more. */
  def writesArchive: Boolean = archiveWriter.get.nonEmpty

  def stderrOf(executorId: String): Path = logsOf(executorId).resolve("stderr")

  /** In words, with the file that tells more where its JVM has crashed. */
  def explainExit(executorId: String, code: Int): String =
    ExitStatus.explain(code) +
      ExitStatus.crashReport(logsOf(executorId)).fold("")(file => s"; its report is $file")

  private def logsOf(executorId: String): Path =
    logDirectories.getOrDefault(executorId, run.executor(executorId))

  def record(report: PlacementReport): Unit = {
    keeping.attempt(run.writePlacement(report.toJson))
    ()
  }

  /**
   * Names the driver's own temporary directories to the reaper and in the record, those that were made
   * since included: the next application removes them should the reaper be killed too.
   */
  def tellReaperOfDriver(): Unit = {
    val fresh = driverDirectories.filter(toldReaper.add)
    fresh.foreach(directory => tellReaper(_.removeLater(directory)))
    if (fresh.nonEmpty) writeRecord("running")
  }

  /** All executors have ended. */
  def close(): Unit = {
    scratch.foreach(directory => keeping.attempt(remove(directory)))
    keeping.attempt(run.release())
    writeRecord("finished")
    if (unkept) keeping.attempt(remove(run.path))
    tellReaper(_.close())
  }

  private def tellReaper(what: Reaper => Unit): Unit = {
    clearing.attempt(reaper.foreach(what))
    ()
  }

  private def createRun(): RunDirectory =
    try RunDirectory.create(runs, appId)
    catch {
      case e: FileAlreadyExistsException =>
        throw new UserError(
          s"spark.app.id: '$appId' is the name of an earlier run in $runs; choose another or none",
          Some(e)
        )
    }

  /** For the executors' logs, beside the scratch directories; it goes when the application ends. */
  private def createUnkeptRun(): RunDirectory =
    try {
      val parent = Files.createDirectories(scratch.head.getParent)
      val directory = Files.createTempDirectory(parent, "hearth-run-")
      tellReaper(_.removeLater(directory))
      unkept = true
      new RunDirectory(directory)
    } catch { case e: IOException => throw unusable(scratch.head, e) }

  private def unusable(directory: Path, e: IOException) = new UserError(
    s"spark.local.dir: $directory cannot be used: ${e.getMessage}; name one of your own with free space",
    Some(e)
  )

  private def createScratch(dir: Path): Unit =
    try {
      OwnFiles.claim(dir)
      tellReaper(_.removeLater(dir))
    } catch {
      case e: IOException => throw unusable(dir, e)
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
  private def archiveOptions(executorId: String): Vector[String] = archive match {
    case write: ArchiveUse.Write =>
      if (archiveWriter.compareAndSet(None, Some(executorId -> None))) {
        tellReaper(_.removeLater(write.partial))
        write.options
      } else Vector.empty
    case other => other.options
  }

  private def chooseArchive(): ArchiveUse =
    if (!conf.get(HearthConfig.ClassDataArchive))
      ArchiveUse.Without(s"${HearthConfig.ClassDataArchive.key} is false")
    else {
      def use = {
        val directory = ClassDataArchive.directory(
          name => Option(System.getenv(name)),
          System.getProperty("user.home")
        )
        val java = s"${launch.java} ${System.getProperty("java.vm.version")}"
        ClassDataArchive.use(directory, launch.classPath, java, appId)
      }
      archiving.attempt(use).getOrElse(ArchiveUse.Without("its directory cannot be used"))
    }

  private def startProcess(executor: ExecutorLaunch): (Process, Boolean) = {
    val archived = archiveOptions(executor.id)
    val assigned = resources.writeFile(executor.place, executor.workDirectory)
    val spec = ExecutorLaunch.compose(launch, executor, archived, assigned)
    if (launcher == "docker") {
      val container = Docker.containerName(s"hearth-$appId-${executor.id}")
      (Docker.start(spec, container), spec.binding.isDefined)
    } else {
      val unbound = ExecutorLaunch.compose(launch, executor.copy(bound = false), archived, assigned)
      startBound(spec, unbound, executor.id)
    }
  }

  /** @param unbound what runs where the kernel refuses the binding and the user allowed that */
  private def startBound(spec: LaunchSpec, unbound: LaunchSpec, id: String): (Process, Boolean) =
    try (BoundLauncher.start(spec), spec.binding.isDefined)
    catch {
      case refused: BindingRefused if binding == "preferred" =>
        logWarning(s"Executor $id goes on unbound: ${refused.getMessage}")
        (BoundLauncher.start(unbound), false)
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
    logs = createLogs(id),
    logUrl = logs.urlFor(id)
  )

  /** In the run's directory; where that is full, in the executor's scratch directory. */
  private def createLogs(id: String): Path = {
    val directory = keeping
      .attempt(run.createExecutor(id))
      .getOrElse(Files.createDirectories(scratch.head.resolve(id).resolve("logs")))
    logDirectories.put(id, directory)
    directory
  }

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
      driverUrl = driverUrl,
      token = conf.get(ApplicationToken.Key),
      redaction = redaction
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

  /** Where this driver listens: of a port that was taken Spark goes on to another. */
  private def driverUrl: String =
    RpcEndpointAddress(sc.env.rpcEnv.address, CoarseGrainedSchedulerBackend.ENDPOINT_NAME).toString

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
    keeping.attempt(run.writeRun(record(state).toJson))
    ()
  }

  private def record(state: String): RunRecord = {
    val pid = ProcessHandle.current.pid
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
    )
  }

  private def remove(path: Path): Unit = Utils.deleteRecursively(path.toFile)
}
