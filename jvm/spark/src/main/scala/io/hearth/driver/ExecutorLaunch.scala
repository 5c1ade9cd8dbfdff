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

/** Composes an executor's command line. */
object ExecutorLaunch {

  /** What an executor registers with, by which its driver knows it. */
  val ApplicationAttribute: String = "HEARTH_APPLICATION"

  /** Names an executor's own directory, where Spark puts the files that the application sends. */
  val FilesVariable: String = "HEARTH_EXECUTOR_FILES"

  private val LogFiles = Vector("stdout", "stderr")

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
  ): LaunchSpec = {
    val place = executor.place
    // First of all options, where other applications look for it.
    val mark = executor.binding.map(_ => Neighbours.mark(app.appId)).toVector
    // With the logs, as its own directory goes; the JVM takes %p for its process id and %% for a per cent sign.
    val crashes = executor.logs.resolve(ExitStatus.CrashReport).toString.replace("%", "%%")
    val own = Vector(
      s"-Xmx${place.heapMb}m",
      s"-Djava.io.tmpdir=${executor.temporary}",
      s"-XX:ErrorFile=$crashes%p.log"
    )
    val options = mark ++ own ++ app.sparkOptions ++ place.javaOptions ++ app.userOptions ++ archive
    val (secret, open) = options.partition(isSecret(app, _))
    LaunchSpec(
      java = app.java,
      javaOptions = open,
      classPath = app.classPath,
      mainClass = MainClass,
      arguments = Vector(
        "--driver-url",
        app.driverUrl,
        "--executor-id",
        executor.id,
        "--hostname",
        executor.host,
        "--cores",
        place.taskSlots.toString,
        "--app-id",
        app.appId,
        "--resourceProfileId",
        "0"
      ) ++ resources.toVector.flatMap(file => Vector("--resourcesFile", file.toString)),
      environment = app.environment ++ environment(app, executor),
      workDirectory = executor.startsIn,
      ownDirectory = executor.workDirectory,
      stdout = executor.logs.resolve("stdout"),
      stderr = executor.logs.resolve("stderr"),
      binding = executor.binding,
      privateOptions = secret
    )
  }

  /** The user's system properties and agents may hold anything. */
  private def isSecret(app: ApplicationLaunch, option: String): Boolean =
    app.userOptions.contains(option) && !option.startsWith("-X") || app.redaction.hides(option)

  private def environment(app: ApplicationLaunch, executor: ExecutorLaunch) = Map(
    s"SPARK_EXECUTOR_ATTRIBUTE_$ApplicationAttribute" -> app.appId,
    ApplicationToken.Variable -> app.token,
    FilesVariable -> executor.workDirectory.toString,
    "SPARK_EXECUTOR_DIRS" -> executor.localDirs.mkString(","),
    "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_PLACE" -> executor.place.id.toString,
    "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS" -> executor.place.cpus.toString,
    "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_MEMORY_NODES" -> executor.place.memoryNodes.toString,
    // By these, spark.history.custom.executor.log.url leads to each log of each executor.
    "SPARK_EXECUTOR_ATTRIBUTE_EXECUTOR_ID" -> executor.id,
    "SPARK_EXECUTOR_ATTRIBUTE_LOG_FILES" -> LogFiles.mkString(",")
  ) ++ executor.logUrl.toVector.flatMap(url =>
    LogFiles.map(name => s"SPARK_LOG_URL_${name.toUpperCase}" -> url(name))
  )
}
