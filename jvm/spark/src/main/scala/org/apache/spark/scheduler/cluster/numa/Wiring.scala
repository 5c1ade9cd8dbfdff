package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Path
import java.time.Instant
import java.util.concurrent.TimeUnit

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.{SparkConf, SparkContext, SPARK_VERSION}
import org.apache.spark.executor.ExecutorExitCode
import org.apache.spark.internal.config.{
  EXECUTOR_ATTEMPT_FAILURE_VALIDITY_INTERVAL_MS,
  MAX_EXECUTOR_FAILURES,
  SHUFFLE_MANAGER,
  SHUFFLE_SERVICE_ENABLED
}
import org.apache.spark.internal.config.Deploy.MAX_EXECUTOR_RETRIES
import org.apache.spark.scheduler.cluster.SchedulerBackendUtils
import org.apache.spark.shuffle.numa.NumaShuffleManager
import org.apache.spark.ui.numa.HearthTab
import org.apache.spark.util.Utils

import io.hearth.core.files.Mountpoint
import io.hearth.core.launch.{ArchiveCheck, ArchiveUse, ClassDataArchive, Processes}
import io.hearth.core.plan.{BindingMode, ExecutorPlan, HandOverMode}
import io.hearth.core.plan.{HearthKeys, HostNames, Launcher, PlanJson}
import io.hearth.core.topology.{GpuNodes, SysTree, TaskLimits}
import io.hearth.lending.{CoreLending, LiveThreadMasks, OpenGrants}
import io.hearth.driver._
import io.hearth.plugin.{DriversLog, WorkListener}

/**
 * Makes the parts of an application under `local-numa` and gives each what it needs of the others, of the
 * settings and of the machine: threads, clocks, paths, environment, the starter of processes. Nothing is
 * started or written here, and nothing is asked of the disk or the kernel.
 */
private[spark] object Wiring {

  /** Spark's own exit codes of executors (SparkExitCode, ExecutorExitCode). */
  private val SparkExitCodes = 50 to 57

  /** What the user set of `spark.executor.maxNumFailures` counts in all, otherwise as standalone does. */
  def lossHistory(conf: SparkConf): LossHistory = LossHistory(
    conf
      .get(MAX_EXECUTOR_FAILURES)
      .fold[LossLimit](LossLimit.InARow(conf.get(MAX_EXECUTOR_RETRIES)))(LossLimit.InAll(_)),
    conf.get(EXECUTOR_ATTEMPT_FAILURE_VALIDITY_INTERVAL_MS).filter(_ > 0)
  )
}

/** @param launch what all executors have in common */
private[numa] class Wiring(
    sc: SparkContext,
    leased: Leased,
    val appId: String,
    jvm: DriverJvm,
    launch: ApplicationLaunch
) {
  private val plan = leased.plan
  private val conf = sc.conf
  private val log = DriversLog
  private val kernel = new LiveKernel(Path.of("/"))
  private val nanoTime = () => System.nanoTime
  private val now = () => Instant.now()
  private val nowMs = () => TimeUnit.NANOSECONDS.toMillis(System.nanoTime)
  private val launcher = HearthKeys.Launcher.in(conf.getOption)
  private val binding =
    if (leased.unbound) BindingMode.Off else HearthKeys.Binding.in(conf.getOption)

  private val runsChosen = HearthKeys.RunsDirectory.set(conf.getOption)

  /** May be a name that the locale of this JVM cannot write. */
  private def runs: Path =
    runsChosen.map(Path.of(_)).getOrElse(RunDirectory.root(jvm.environment, jvm.userHome))

  private val bestEffort = new BestEffort(
    s"The application goes on, but hearth cannot record all of it where ${HearthKeys.RunsDirectory.name} " +
      s"says (${runsChosen.getOrElse("left at its default")})",
    log.warn
  )
  private val reaper = new Reaper(
    new BestEffort(
      "If this driver is killed, its temporary directories stay until the next application here " +
        "removes them",
      log.warn
    )
  )

  private val localDirs = DriversLaunch.localDirs(sc, plan)
  private val sockets = PythonSockets.directory(
    appId,
    conf.getOption,
    jvm.environment,
    localDirs ++ Vector(Path.of(jvm.temporary), Path.of("/tmp"))
  )
  private val scratch = new ScratchDirectories(
    localDirs.map(_.resolve(s"hearth-$appId")),
    Path.of(jvm.temporary).resolve(s"hearth-$appId"),
    sockets,
    Mountpoint.noexec,
    reaper,
    bestEffort,
    remove
  )
  private val ended = new EndedExecutors(scratch, DaemonThread.scheduled("hearth-scratch"), log)
  private val drivers =
    new DriverDirectories(() => DriversLaunch.temporaryDirectories(sc, jvm), reaper)
  private val work = new WorkSoFar
  private val first = record()
  private val run = new KeptRun(
    root = () => runs,
    appId,
    scratch,
    submitted = RunDirectory.submitted(_, jvm.pid, jvm.startTicks),
    describe = state =>
      first.copy(
        state = state,
        scratch = scratch.all ++ drivers.all,
        work = Option.when(state == RunState.Finished)(work.atItsEnd().toJson(Work.peakMb()))
      ),
    reaper,
    bestEffort,
    remove
  )

  private val archiveCheck = {
    val place = plan.executors.head
    val options = s"-Xmx${place.heapMb}m" +: (place.javaOptions ++ launch.userOptions)
    new ArchiveCheck(launch.java, options, launch.classPath)
  }
  val archive = new ArchiveWriting(
    choose = () => archiveUse(),
    sound = archiveCheck.sound,
    reaper,
    new BestEffort("Executors of later runs start slower", log.warn),
    log
  )
  private val logs = new ExecutorLogs(sc, run.logsOf)
  private val resources =
    new ExecutorResources(
      conf,
      plan.executors,
      new GpuNodes(new SysTree(Path.of("/"))),
      launcher == Launcher.InContainer
    )
  private val jvms = launcher match {
    case Launcher.AsProcess => Processes
    case Launcher.InContainer =>
      new Containers(appId, jvm, conf.getAll.toMap, sys.env, scratch, kernel, reaper, log)
  }
  private val startsIn = new StartDirectory(
    jvm.directory,
    conf.getOption("spark.pyspark.python").orElse(jvm.environment("PYSPARK_PYTHON")),
    jvms.sees,
    log
  )
  private val starter = new ExecutorStarter(
    ExecutorSettings(
      launch.copy(sparkOptions = launch.sparkOptions ++ sockets.map(PythonSockets.option)),
      hostOf,
      resources.writeFile,
      resources.gpus,
      startsIn,
      logs.urlFor
    ),
    new PlacementLauncher(binding, jvms, kernel, log),
    scratch,
    run,
    archive,
    reaper,
    log
  )

  private val shownPlan = PlanJson.shown(plan, launch.redaction)
  val application = new RunningApplication(
    check = () => { jvms.prepare(); resources.open() },
    sweep = () => RunSweep.sweep(runs, HearthKeys.RunsKept.in(conf.getOption), remove),
    PlanJson.write(shownPlan),
    RunningApplication.Parts(bestEffort, reaper, run, scratch, ended, drivers, archive),
    log
  )
  val pool =
    new ExecutorPool(
      plan.executors,
      starter.start,
      DaemonThread.scheduled("hearth-executor-pool"),
      nowMs,
      log
    )
  private val running = () => pool.running
  private val tables = new ApplicationTables(shownPlan, leased, running)

  val lending: Lending =
    if (binding == BindingMode.Off || HearthKeys.HandOver.in(conf.getOption) == HandOverMode.Off)
      NoLending
    else {
      val masks = new LiveThreadMasks(jvms)
      val grants = new OpenGrants(
        appId,
        running,
        masks,
        keep = record => loansChanged(record.toJson),
        nanoTime,
        now,
        log
      )
      new CoreLending(
        plan.executors,
        running,
        masks,
        grants,
        DaemonThread.scheduled("hearth-hand-over"),
        nanoTime,
        log
      )
    }

  val placement = new PlacementWatch(
    appId,
    running,
    intervalNanos = TimeUnit.SECONDS.toNanos(HearthKeys.PlacementInterval.in(conf.getOption)),
    kernel,
    taken = report => {
      application.placementTaken(report)
      tables.placementTaken(report)
    },
    lent = lending.lentTo,
    DaemonThread.scheduled("hearth-placement"),
    nanoTime,
    log
  )

  /** How many are started before the application begins. */
  def initialExecutors: Int = math.min(
    plan.executors.size,
    SchedulerBackendUtils.getInitialTargetExecutorNumber(conf, plan.executors.size)
  )

  /** Given the error of each task that has failed with one. */
  def taskFailed(error: String): Unit = jvms.taskFailed(error)

  private def loansChanged(record: JsonNode): Unit = {
    run.loans(record)
    tables.loansChanged(record)
  }

  /** What deals with executors that end. */
  def supervise(scheduler: SchedulerSide): ExecutorSupervisor = new ExecutorSupervisor(
    Supervision(Wiring.lossHistory(conf)),
    scheduler,
    pool,
    explain,
    id => ExitStatus.lastWordsIn(run.logsOf(id)),
    archive,
    id => if (!conf.get(SHUFFLE_SERVICE_ENABLED)) ended.ended(id, () => scheduler.runningTasks),
    nowMs,
    log
  )

  /** Executors read these from the driver's settings; the user's shuffle manager stands. People read the UI. */
  def announce(): Unit = {
    conf.set(NumaShuffleManager.RegistryKey, scratch.roots.head.toString)
    conf.setIfMissing(SHUFFLE_MANAGER, classOf[NumaShuffleManager].getName)
    logs.attach()
    sc.addSparkListener(new WorkListener(work))
    HearthTab.show(sc, log)(() => tables.all)
  }

  /** In words, with the file that tells more where its JVM has crashed. */
  private def explain(executorId: String, code: Int): String = {
    val logs = run.logsOf(executorId)
    def plain =
      if (Wiring.SparkExitCodes.contains(code))
        s"exit $code: ${ExecutorExitCode.explainExitCode(code)}"
      else
        ExitStatus.explain(code) +
          ExitStatus.crashReport(logs).fold("")(file => s"; its report is $file")
    ExitStatus.withoutThreads(code, logs, taskLimits()).getOrElse(plain)
  }

  private def taskLimits(): String = launcher match {
    case Launcher.AsProcess => TaskLimits.here()
    case Launcher.InContainer => "raise the engine's limit for containers (default pids limit)"
  }

  private def hostOf(place: ExecutorPlan): String = HearthKeys.Hosts.in(conf.getOption) match {
    case HostNames.OfMachine => Utils.localCanonicalHostName()
    case HostNames.OfNodes => place.host
  }

  private def archiveUse(): ArchiveUse =
    if (!HearthKeys.ClassDataArchive.in(conf.getOption))
      ArchiveUse.Without(s"${HearthKeys.ClassDataArchive.name} is false")
    else
      ClassDataArchive.use(
        ClassDataArchive.directory(jvm.environment, jvm.userHome),
        launch.classPath,
        s"${launch.java} ${jvm.javaVersion}",
        appId
      )

  private def record(): RunRecord = RunRecord(
    appId = appId,
    name = sc.appName,
    master = sc.master,
    sparkVersion = SPARK_VERSION,
    machine = jvm.machine,
    driverPid = jvm.pid,
    driverStartTicks = jvm.startTicks,
    startedAt = Instant.now(),
    state = RunState.Running,
    hosts = HearthKeys.Hosts.in(conf.getOption),
    binding = binding,
    launcher = launcher,
    ui = sc.uiWebUrl,
    scratch = Vector.empty
  )

  private def remove(path: Path): Unit = Utils.deleteRecursively(path.toFile)
}
