package io.hearth.core.launch

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.UserError
import io.hearth.core.topology.IdSet

/**
 * Starts JVMs in Docker containers whose cpuset holds their CPUs and memory nodes (`docker run
 * --cpuset-cpus --cpuset-mems`; cpuset(7)). A cpuset is stronger than a mask and a memory policy: no
 * process in it can leave it.
 *
 * The container has those of the machine's files that it needs, at their own places, and the machine's
 * process ids, network and shared memory; the image holds nothing. So an application needs no image of its
 * own, and the kernel's view of it is read as that of any process. All that is not mounted is read-only:
 * what a task writes there would be lost without a word.
 */
object Docker {

  /** An empty image, created where it is missing, so that nothing has to be downloaded. */
  val Image: String = "hearth-empty:1"

  private val Client = Vector("docker")
  private val StartSeconds = 60L
  private val AnswerSeconds = 30L
  private val PollMillis = 50L

  /** Makes sure that the engine and the image are available. @throws UserError saying what is missing */
  def prepare(): Unit = prepare(Client)

  private[launch] def prepare(client: Vector[String]): Unit = {
    val (code, said) = answer(start(client ++ Vector("image", "ls", "--quiet", Image)))
    if (code != 0)
      throw new UserError(
        s"spark.hearth.launcher: docker cannot be used here: $said; start the engine, or join the " +
          "group 'docker', or leave the key out to start executors as processes"
      )
    if (said.isEmpty) importImage()
  }

  /**
   * What runs: `docker run` with the JVM's own command line behind it.
   *
   * @param mounts what it sees of the machine's files
   * @param user numeric user and groups, the user's own group first
   * @param variables names of environment variables; their values are not for a command line
   */
  def command(
      spec: LaunchSpec,
      container: String,
      mounts: Vector[Mount],
      user: User,
      variables: Vector[String]
  ): Vector[String] = {
    val files = "--read-only" +: mounts.flatMap(mount => Vector("--mount", mount.option))
    val groups = user.groups.tail.flatMap(group => Vector("--group-add", group))
    val cpuset = spec.binding.toVector.flatMap(binding =>
      Vector("--cpuset-cpus", binding.cpus.toString) ++
        Vector("--cpuset-mems", binding.memoryNodes.toString)
    )
    // The quotes are Docker's: without them the comma would end the list.
    val gpus =
      if (spec.gpus.isEmpty) Vector.empty
      else Vector("--gpus", spec.gpus.mkString("\"device=", ",", "\""))
    Vector(
      "docker",
      "run",
      "--pull",
      "never",
      "--rm",
      "--name",
      container,
      "--log-driver",
      "none"
    ) ++
      Vector("--cap-drop", "ALL", "--security-opt", "no-new-privileges") ++
      Vector("--pid", "host", "--network", "host", "--ipc", "host") ++
      Vector("--user", s"${user.id}:${user.groups.head}") ++ groups ++ cpuset ++ gpus ++ files ++
      variables.flatMap(name => Vector("--env", name)) ++
      (Image +: inDirectory(spec.workDirectory)) ++ spec.command
  }

  /**
   * Starts a container and waits until its JVM is there.
   *
   * @param container its name, which no other container has
   * @param mounts what it sees of the machine's files
   * @param starting is given the engine's client, which ends with the container
   * @return the JVM, with its process id on this machine; ending it ends the container, which goes
   * Throws IOException when the container cannot be started, as where the engine refuses the cpuset
   */
  def start(spec: LaunchSpec, container: String, mounts: Vector[Mount])(
      starting: Process => Unit
  ): Process = {
    val variables = ContainerEnvironment.of(System.getenv.asScala.keys) ++ spec.environment.keys
    val words = command(spec, container, mounts, User.own(), variables.distinct.sorted)
    try run(spec, container, words, starting)
    catch {
      case e: IOException if e.getMessage.contains("No such image") => // somebody removed it
        importImage()
        run(spec, container, words, starting)
    }
  }

  /**
   * Changes the CPUs of a container's cpuset; its memory nodes stay.
   *
   * Throws IOException with the engine's message, where it refuses
   */
  def allow(container: String, cpus: IdSet): Unit = {
    val (code, said) = docker(Vector("update", "--cpuset-cpus", cpus.toString, container))
    if (code != 0) throw new IOException(s"docker update --cpuset-cpus $cpus $container: $said")
  }

  private def run(
      spec: LaunchSpec,
      container: String,
      words: Vector[String],
      starting: Process => Unit
  ): Process = {
    val client = Processes.unbound(spec, words)
    starting(client)
    try new ContainerProcess(client, awaitJvm(spec, container, client))
    catch {
      case e: Throwable =>
        client.destroyForcibly()
        docker(Vector("rm", "--force", container))
        throw e
    }
  }

  /** `--workdir` would make a directory that the reaper has removed meanwhile; this then ends. */
  private def inDirectory(directory: Path): Vector[String] =
    Vector("sh", "-c", "cd \"$0\" && exec \"$@\"", directory.toString)

  /** A name that Docker takes for a container ([a-zA-Z0-9][a-zA-Z0-9_.-]+), from any text. */
  def containerName(text: String): String = text.replaceAll("[^a-zA-Z0-9_.-]", "-")

  private def awaitJvm(spec: LaunchSpec, container: String, client: Process): ProcessHandle = {
    val deadline = System.nanoTime + TimeUnit.SECONDS.toNanos(StartSeconds)
    var jvm = Option.empty[ProcessHandle]
    while (jvm.isEmpty) {
      if (client.waitFor(PollMillis, TimeUnit.MILLISECONDS)) throw notStarted(spec, client)
      if (System.nanoTime > deadline)
        throw new IOException(s"docker has not started $container within $StartSeconds s")
      val (_, said) = docker(Vector("inspect", "--format", "{{.State.Pid}}", container))
      jvm = said.toLongOption.filter(_ > 0).map(handle(_, container))
    }
    jvm.get
  }

  private def handle(pid: Long, container: String): ProcessHandle =
    ProcessHandle
      .of(pid)
      .orElseThrow(() =>
        new IOException(
          s"docker says that $container is process $pid, which is not on this machine: the engine must run here"
        )
      )

  /** With the engine's message, else the JVM's last line. */
  private def notStarted(spec: LaunchSpec, client: Process): IOException = {
    val lines = Files.readAllLines(spec.stderr).asScala.filter(_.trim.nonEmpty)
    val said = lines.findLast(_.startsWith("docker: ")).orElse(lines.lastOption)
    new IOException(
      s"docker run ended with ${client.exitValue}: ${said.getOrElse(s"see ${spec.stderr}")}"
    )
  }

  private def importImage(): Unit = {
    val process = start(Client ++ Vector("import", "-", Image))
    // The end of a tar archive, and nothing before it: two records of zeros.
    try Using.resource(process.getOutputStream)(_.write(new Array[Byte](1024)))
    catch { case _: IOException => () } // it ended before; its message tells
    val (code, said) = answer(process)
    if (code != 0) throw new UserError(s"docker import $Image failed: $said")
  }

  private def docker(words: Vector[String]): (Int, String) = answer(start(Client ++ words))

  private def start(words: Vector[String]): Process =
    try new ProcessBuilder(words.asJava).redirectErrorStream(true).start()
    catch {
      case e: IOException =>
        // The JDK has the error number in its message only.
        val (what, remedy) =
          if (e.getMessage.contains("error=2,"))
            ("is not installed", "install Docker (Debian: apt-get install docker.io), or ")
          else (s"cannot be started: ${e.getMessage}", "")
        throw new UserError(
          s"spark.hearth.launcher: the docker command $what: ${remedy}leave the key out to start executors as processes",
          Some(e)
        )
    }

  private def answer(process: Process): (Int, String) = {
    // An engine that hangs must not hang us: the client is ended, which ends its output.
    val watch = process.onExit().orTimeout(AnswerSeconds, TimeUnit.SECONDS)
    watch.exceptionally { _ =>
      process.destroyForcibly()
      process
    }
    val said = new String(process.getInputStream.readAllBytes(), UTF_8).trim
    (process.waitFor(), said)
  }
}

/** Numeric ids of a user; `groups` has the user's own group first. */
final case class User(id: String, groups: Vector[String])

object User {

  /** Of this process (proc(5): the effective ids of `status`). */
  def own(): User = {
    val lines = Files.readAllLines(Path.of("/proc/self/status")).asScala
    def ids(name: String): Vector[String] = lines
      .collectFirst { case line if line.startsWith(s"$name:") => line }
      .toVector
      .flatMap(_.split("\\s+").drop(1))
    val group = ids("Gid")(1)
    User(ids("Uid")(1), group +: ids("Groups").filter(_ != group))
  }
}

/**
 * The JVM of a container, seen as a process: the client ends when the container ends, with its exit
 * code, but signals go to the JVM itself, for a client that is killed leaves its container running.
 */
final private class ContainerProcess(client: Process, jvm: ProcessHandle) extends Process {
  override def pid: Long = jvm.pid
  override def toHandle: ProcessHandle = jvm
  override def isAlive: Boolean = client.isAlive

  override def onExit: java.util.concurrent.CompletableFuture[Process] =
    client.onExit().thenApply { _ =>
      jvm.destroyForcibly()
      this
    }

  override def waitFor(): Int = {
    val code = client.waitFor()
    jvm.destroyForcibly() // where the client was killed, or the engine
    code
  }
  override def exitValue: Int = client.exitValue

  override def destroy(): Unit = {
    jvm.destroy()
    ()
  }

  override def destroyForcibly(): Process = {
    jvm.destroyForcibly()
    this
  }

  override def getOutputStream: java.io.OutputStream = client.getOutputStream
  override def getInputStream: java.io.InputStream = client.getInputStream
  override def getErrorStream: java.io.InputStream = client.getErrorStream
}
