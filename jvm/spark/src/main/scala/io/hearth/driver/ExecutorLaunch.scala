package io.hearth.driver

import java.nio.file.Path

import io.hearth.core.Redaction
import io.hearth.core.launch.{Binding, LaunchSpec}
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.Neighbours

/**
 * What all executors of an application have in common.
 *
 * @param sparkOptions JVM options that Spark needs, module options included
 * @param userOptions the user's `spark.executor.extraJavaOptions`
 * @param driverUrl the scheduler's RPC address
 * @param token the [[ApplicationToken]]
 */
final case class ApplicationLaunch(
    appId: String,
    java: String,
    classPath: Vector[String],
    sparkOptions: Vector[String],
    userOptions: Vector[String],
    environment: Map[String, String],
    driverUrl: String,
    token: String,
    redaction: Redaction
)

/**
 * @param id Spark's executor id; a replacement has a new one in the same place
 * @param host the name under which it registers
 * @param binding to what it is bound, where it is
 * @param startsIn the directory in which it starts
 * @param workDirectory its own: files that the application sends it, files of hearth's
 * @param localDirs where its blocks go (`SPARK_EXECUTOR_DIRS`)
 * @param logUrl where the driver's UI serves its log of a name; absent without a UI
 */
final case class ExecutorLaunch(
    id: String,
    place: ExecutorPlan,
    host: String,
    binding: Option[Binding],
    startsIn: Path,
    workDirectory: Path,
    temporary: Path,
    localDirs: Vector[Path],
    logs: Path,
    logUrl: Option[String => String]
)

/** Composes an executor's command line; each step adds and none drops. */
object ExecutorLaunch {
  type Step = LaunchSpec => LaunchSpec

  /** What an executor registers with, by which its driver knows it. */
  val ApplicationAttribute: String = "HEARTH_APPLICATION"

  /** Names an executor's own directory, where Spark puts the files that the application sends. */
  val FilesVariable: String = "HEARTH_EXECUTOR_FILES"

  private val LogFiles = Vector("stdout", "stderr")

  private val ApplicationVariable = s"SPARK_EXECUTOR_ATTRIBUTE_$ApplicationAttribute"

  val MainClass: String =
    "org.apache.spark.scheduler.cluster.numa.NumaCoarseGrainedExecutorBackend"

  /**
   * @param archive JVM options of the class-data archive
   * @param resources file that names its share of custom resources, where there are any
   */
  def compose(
      app: ApplicationLaunch,
      executor: ExecutorLaunch,
      archive: Vector[String],
      resources: Option[Path]
  ): LaunchSpec =
    Seq(
      mark(app, executor),
      memory(executor),
      crashReport(executor),
      options(app.sparkOptions),
      options(executor.place.javaOptions),
      options(app.userOptions),
      options(archive),
      arguments(app, executor, resources),
      environment(app.environment),
      executorEnvironment(app, executor),
      hidden(app)
    ).foldLeft(empty(app, executor))((spec, step) => step(spec))

  /** The user's system properties and agents, which may hold anything, and whatever is a secret. */
  private def hidden(app: ApplicationLaunch): Step = spec => {
    val (secret, open) = spec.javaOptions.partition(option =>
      (app.userOptions.contains(option) && !option.startsWith("-X")) || app.redaction.hides(option)
    )
    spec.copy(javaOptions = open, privateOptions = secret)
  }

  private def empty(app: ApplicationLaunch, executor: ExecutorLaunch) = LaunchSpec(
    java = app.java,
    javaOptions = Vector.empty,
    classPath = app.classPath,
    mainClass = MainClass,
    arguments = Vector.empty,
    environment = Map.empty,
    workDirectory = executor.startsIn,
    ownDirectory = executor.workDirectory,
    stdout = executor.logs.resolve("stdout"),
    stderr = executor.logs.resolve("stderr"),
    binding = executor.binding
  )

  /** First of all options, where other applications look for it. */
  private def mark(app: ApplicationLaunch, executor: ExecutorLaunch): Step =
    options(executor.binding.map(_ => Neighbours.mark(app.appId)).toVector)

  private def memory(executor: ExecutorLaunch): Step =
    options(Vector(s"-Xmx${executor.place.heapMb}m", s"-Djava.io.tmpdir=${executor.temporary}"))

  /** Its own directory goes with the application; the report of a crash stays with the logs. */
  private def crashReport(executor: ExecutorLaunch): Step = {
    val file = executor.logs.resolve(ExitStatus.CrashReport).toString
    // The JVM takes %p for its process id and %% for a per cent sign.
    options(Vector(s"-XX:ErrorFile=${file.replace("%", "%%")}%p.log"))
  }

  private def options(more: Vector[String]): Step =
    spec => spec.copy(javaOptions = spec.javaOptions ++ more)

  private def arguments(
      app: ApplicationLaunch,
      executor: ExecutorLaunch,
      resources: Option[Path]
  ): Step = spec =>
    spec.copy(arguments =
      spec.arguments ++ Vector(
        "--driver-url",
        app.driverUrl,
        "--executor-id",
        executor.id,
        "--hostname",
        executor.host,
        "--cores",
        executor.place.taskSlots.toString,
        "--app-id",
        app.appId,
        "--resourceProfileId",
        "0"
      ) ++ resources.toVector.flatMap(file => Vector("--resourcesFile", file.toString))
    )

  private def environment(more: Map[String, String]): Step =
    spec => spec.copy(environment = spec.environment ++ more)

  private def executorEnvironment(app: ApplicationLaunch, executor: ExecutorLaunch): Step = {
    val place = executor.place
    val logs = executor.logUrl.toVector.flatMap(url =>
      LogFiles.map(name => s"SPARK_LOG_URL_${name.toUpperCase}" -> url(name))
    )
    environment(
      Map(
        ExecutorLaunch.ApplicationVariable -> app.appId,
        ApplicationToken.Variable -> app.token,
        ExecutorLaunch.FilesVariable -> executor.workDirectory.toString,
        "SPARK_EXECUTOR_DIRS" -> executor.localDirs.mkString(","),
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_PLACE" -> place.id.toString,
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS" -> place.cpus.toString,
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_MEMORY_NODES" -> place.memoryNodes.toString,
        // By these, spark.history.custom.executor.log.url leads to each log of each executor.
        "SPARK_EXECUTOR_ATTRIBUTE_EXECUTOR_ID" -> executor.id,
        "SPARK_EXECUTOR_ATTRIBUTE_LOG_FILES" -> LogFiles.mkString(",")
      ) ++ logs
    )
  }
}
