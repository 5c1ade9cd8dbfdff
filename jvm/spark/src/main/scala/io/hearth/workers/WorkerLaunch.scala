package io.hearth.workers

import java.nio.file.Path

import org.apache.spark.launcher.JavaModuleOptions

import io.hearth.core.launch.{Binding, LaunchSpec}
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.Neighbours

/**
 * Composes the command of Spark's own Worker in a place of the plan; its executors inherit the binding.
 *
 * @param environment the supervisor's own
 * @param shuffleServiceIn the place whose Worker runs the external shuffle service, if the user has one run
 * @param resources options with each place's share of custom resources, where there are any
 */
final class WorkerLaunch(
    request: WorkersRequest,
    set: String,
    localDirs: Option[String],
    environment: Map[String, String],
    shuffleServiceIn: Int,
    resources: Map[Int, Vector[String]]
) {
  import WorkerLaunch._

  def directory(place: ExecutorPlan): Path = request.folder(place.id)

  def compose(place: ExecutorPlan, binding: Option[Binding]): LaunchSpec = {
    val folder = directory(place)
    LaunchSpec(
      java = request.java,
      javaOptions = binding.map(_ => Neighbours.mark(set)).toVector ++
        Vector(s"-Xmx${request.memoryMb}m", Decommissions) ++
        JavaModuleOptions.defaultModuleOptionArray ++ request.javaOptions ++ shuffleService(
          place
        ) ++
        resources.getOrElse(place.id, Vector.empty),
      classPath = request.classPath,
      mainClass = MainClass,
      arguments = Vector("--cores", place.taskSlots.toString, "--memory", s"${place.heapMb}m") ++
        Vector(
          "--work-dir",
          folder.resolve("work").toString
        ) ++ request.arguments :+ request.master,
      environment = localDirs.map("SPARK_LOCAL_DIRS" -> _).toMap ++ sizes(place),
      workDirectory = folder,
      ownDirectory = folder,
      stdout = folder.resolve("stdout"),
      stderr = folder.resolve("stderr"),
      binding = binding
    )
  }

  /** For the Worker and for what it starts; the user's own come behind, and win. */
  private def sizes(place: ExecutorPlan): Option[(String, String)] = {
    val planned = place.javaOptions.filter(option => Sizes.exists(option.startsWith(_)))
    Option.when(planned.nonEmpty)(
      JavaVariable -> (planned ++ environment.get(JavaVariable)).mkString(" ")
    )
  }

  /**
   * One service serves all executors of a machine, as applications know one port; a second would end its Worker.
   * In `spark.local.dir` it keeps whom it serves, beyond its Worker's end.
   */
  private def shuffleService(place: ExecutorPlan): Vector[String] =
    if (place.id == shuffleServiceIn) localDirs.map(dirs => s"-Dspark.local.dir=$dirs").toVector
    else Vector("-Dspark.shuffle.service.enabled=false")
}

object WorkerLaunch {
  val MainClass = "org.apache.spark.deploy.worker.Worker"

  /** A Worker answers SIGPWR only so: `hearth workers stop` lets it hand its executors' blocks over. */
  private val Decommissions = "-Dspark.decommission.enabled=true"

  /** What an executor's JVM sizes by its CPUs; read by each JVM before its command line (java(1)). */
  private val JavaVariable = "JDK_JAVA_OPTIONS"
  private val Sizes = Vector("-XX:ParallelGCThreads=", "-XX:ActiveProcessorCount=")
}
