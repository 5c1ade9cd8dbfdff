package io.hearth.driver

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

import io.hearth.core.launch.{
  ContainerEnvironment,
  ContainerFiles,
  Docker,
  HostPaths,
  JvmStarter,
  LaunchSpec,
  Mount,
  Mounts,
  PythonFiles,
  Wanted
}
import io.hearth.core.topology.IdSet

/**
 * The containers in which an application's executors run, and what they see of this machine's files.
 *
 * @param settings of the application
 * @param environment of the driver
 * @param scratch the application's own directories, where an executor reads the others' blocks
 * @param reaper is told of a container before it exists: this driver may be killed while it is started
 */
final class Containers(
    appId: String,
    driver: DriverJvm,
    settings: Map[String, String],
    environment: Map[String, String],
    scratch: ScratchDirectories,
    kernel: Kernel,
    reaper: Reaper,
    log: Log
) extends JvmStarter {
  private lazy val paths = HostPaths.ofUser(environment)
  private lazy val unseen = new UnseenPaths(paths)
  private val said = ConcurrentHashMap.newKeySet[Path]()
  private lazy val chosen = settings.get(Mount.Key).toVector.flatMap(Mount.chosen)
  private lazy val named = readNamed()
  // Of the newest container; written by the pool's thread.
  @volatile private var mounts = Vector.empty[Mount]

  /** Throws UserError where there is no engine, or not what the user wants mounted */
  override def prepare(): Unit = {
    settings.get(Mount.Key).foreach(Mount.chosen(_))
    Docker.prepare()
  }

  /** @return the executor's JVM, in a container of its own */
  override def start(spec: LaunchSpec, executorId: String): Process = {
    val temporary = scratch.temporary(executorId)
    // The machine's /tmp is not in it, and the driver's TMPDIR may not be.
    val inside = spec.copy(environment = Map("TMPDIR" -> temporary.toString) ++ spec.environment)
    val wanted = ContainerFiles.of(inside, environment, paths) ++ named
    val first = mounts.isEmpty
    mounts = Mounts.combined(wanted.mounts, chosen)
    if (first) {
      log.info(s"Executors' containers see: ${mounts.map(_.shown).mkString(", ")}")
      log.info(
        "Variables of the driver's environment in executors' containers: " +
          ContainerEnvironment.of(environment.keys).mkString(", ")
      )
      wanted.left.distinct.foreach(path => once(path, cannotWrite(path)))
    }
    val name = container(executorId)
    Docker.start(inside, name, mounts) { client =>
      reaper.watchClient(client.pid, kernel.startTicks(client.pid), name)
    }
  }

  override def sees(directory: Path): Boolean =
    (named.mounts ++ chosen).exists(mount => directory.startsWith(mount.path))

  override def allow(executorId: String, cpus: IdSet): Unit =
    Docker.allow(container(executorId), cpus)

  private def container(executorId: String) =
    Docker.containerName(s"hearth-$appId-$executorId")

  /** Says what to do where a task has failed because its container does not see a file. */
  override def taskFailed(error: String): Unit =
    unseen.advice(error, mounts).foreach { case (path, sentence) => once(path, sentence) }

  private def once(path: Path, sentence: String): Unit = if (said.add(path)) log.warn(sentence)

  private def cannotWrite(path: Path): String = {
    val above = Iterator.iterate(path)(_.getParent).find(Files.isDirectory(_)).get
    s"The executors' containers cannot write $path: $above also holds files of others, and is not " +
      s"mounted by default; set ${Mount.Key}=$above:rw, or use a directory that exists"
  }

  private def readNamed(): Wanted = {
    val words = NamedPaths.arguments(driver.command)
    val python = pythons.flatMap(PythonFiles.of(_, environment)).map(Mount(_, writable = false))
    new NamedPaths(paths, driver.directory).of(settings, words) ++
      Wanted(python ++ scratch.all.map(Mount(_, writable = true)), Vector.empty)
  }

  /** What the workers run, and the driver: a program may name its own Python for them. */
  private def pythons: Vector[String] = {
    def chosen(key: String, variable: String) = settings.get(key).orElse(environment.get(variable))
    val workers = chosen("spark.pyspark.python", "PYSPARK_PYTHON").getOrElse("python3")
    val drivers = chosen("spark.pyspark.driver.python", "PYSPARK_DRIVER_PYTHON")
      .filter(program =>
        Path.of(program).getFileName.toString.startsWith("python")
      ) // others are front ends
    (workers +: drivers.toVector).distinct
  }
}
