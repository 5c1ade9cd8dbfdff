package io.hearth.workers

import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.spark.launcher.JavaModuleOptions

import io.hearth.core.files.OwnFiles
import io.hearth.core.launch.{Binding, LaunchSpec}
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.{IdSet, Neighbours}
import io.hearth.spark.Held

/**
 * Composes the command of Spark's own Worker in a place of the plan; its executors inherit the binding.
 *
 * @param shuffleServiceIn the place whose Worker runs the external shuffle service, if the user has one run
 */
final class WorkerLaunch(
    request: WorkersRequest,
    set: String,
    localDirs: Option[String],
    shuffleServiceIn: Int
) {
  import WorkerLaunch._

  def directory(place: ExecutorPlan): Path = request.directory.resolve(s"place-${place.id}")

  def compose(place: ExecutorPlan, held: Held): LaunchSpec = {
    val own = directory(place)
    val nodes = if (held.memory) place.memoryNodes else IdSet.empty
    LaunchSpec(
      java = request.java,
      javaOptions = Option.when(held.cpus)(Neighbours.mark(set)).toVector ++
        Vector(s"-Xmx${request.memoryMb}m", Decommissions) ++
        JavaModuleOptions.defaultModuleOptionArray ++ request.javaOptions ++ shuffleService(place),
      classPath = request.classPath,
      mainClass = MainClass,
      arguments = Vector("--cores", place.taskSlots.toString, "--memory", s"${place.heapMb}m") ++
        Vector("--work-dir", own.resolve("work").toString) ++ request.arguments :+ request.master,
      environment = localDirs.map("SPARK_LOCAL_DIRS" -> _).toMap,
      workDirectory = own,
      ownDirectory = own,
      stdout = own.resolve("stdout"),
      stderr = own.resolve("stderr"),
      binding = Option.when(held.cpus)(Binding(place.cpus, nodes))
    )
  }

  /**
   * One service serves all executors of a machine, as applications know one port; a second would end its Worker.
   * In `spark.local.dir` it keeps whom it serves, beyond its Worker's end.
   */
  private def shuffleService(place: ExecutorPlan): Vector[String] =
    if (place.id == shuffleServiceIn) localDirs.map(dirs => s"-Dspark.local.dir=$dirs").toVector
    else Vector("-Dspark.shuffle.service.enabled=false")

  /** Make the directory of a place, for its owner alone, and put the logs of the Worker before aside. */
  def prepare(place: ExecutorPlan): Unit = {
    val own = OwnFiles.claim(directory(place))
    Logs.map(own.resolve(_)).filter(Files.exists(_)).foreach { log =>
      def aged(n: Int) = log.resolveSibling(s"${log.getFileName}.$n")
      (KeptLogs - 1 to 1 by -1)
        .filter(n => Files.exists(aged(n)))
        .foreach(n => move(aged(n), aged(n + 1)))
      move(log, aged(1))
    }
  }

  private def move(from: Path, to: Path): Unit = {
    val _ = Files.move(from, to, StandardCopyOption.REPLACE_EXISTING)
  }
}

object WorkerLaunch {
  val MainClass = "org.apache.spark.deploy.worker.Worker"

  /** A Worker answers SIGPWR only so: `hearth workers stop` lets it hand its executors' blocks over. */
  private val Decommissions = "-Dspark.decommission.enabled=true"
  private val Logs = Vector("stdout", "stderr")

  /** As many as Spark's own scripts keep (spark-daemon.sh). */
  private val KeptLogs = 5
}
