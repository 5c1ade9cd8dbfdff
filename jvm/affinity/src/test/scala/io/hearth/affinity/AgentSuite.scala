package io.hearth.affinity

import java.io.{BufferedReader, InputStreamReader, PrintStream}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import java.util.jar.{Attributes, JarOutputStream, Manifest}
import java.util.zip.ZipEntry

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The agent in a JVM of its own; what the kernel says of that JVM's threads. */
class AgentSuite extends AnyFunSuite with BeforeAndAfterAll {
  private val directory = Files.createTempDirectory("hearth-agent")
  private val jar = directory.resolve("agent.jar")

  override def beforeAll(): Unit = pack(
    Path.of(classOf[Agent].getProtectionDomain.getCodeSource.getLocation.toURI)
  )

  override def afterAll(): Unit =
    Using
      .resource(Files.walk(directory))(_.iterator.asScala.toVector)
      .reverse
      .foreach(Files.delete(_))

  /** As Maven packs it: the classes, and the folder with the agent's own JNA. */
  private def pack(classes: Path): Unit = {
    val manifest = new Manifest
    manifest.getMainAttributes.put(Attributes.Name.MANIFEST_VERSION, "1.0")
    manifest.getMainAttributes.putValue("Premain-Class", "io.hearth.affinity.Agent")
    Using.resource(new JarOutputStream(Files.newOutputStream(jar), manifest)) { out =>
      val files = Using.resource(Files.walk(classes))(
        _.iterator.asScala.filter(Files.isRegularFile(_)).toVector
      )
      files.filterNot(_.endsWith("MANIFEST.MF")).foreach { file =>
        out.putNextEntry(new ZipEntry(classes.relativize(file).toString))
        Files.copy(file, out)
      }
    }
  }

  private def command(argument: String): ProcessBuilder = new ProcessBuilder(
    s"${sys.props("java.home")}/bin/java",
    "-XX:TieredStopAtLevel=1",
    s"-javaagent:$jar=$argument",
    "-cp",
    sys.props("java.class.path"),
    "io.hearth.affinity.Talkers"
  ).redirectError(directory.resolve("err").toFile)

  /** CPUs allowed of each thread, by its name; several of a name together. */
  private def masks(pid: Long): Map[String, Set[String]] = {
    val tasks = Using.resource(Files.list(Path.of(s"/proc/$pid/task")))(_.iterator.asScala.toVector)
    tasks
      .flatMap(task => Try(Files.readString(task.resolve("status"))).toOption)
      .map { status =>
        def field(name: String) =
          status.linesIterator.find(_.startsWith(s"$name:")).fold("")(_.drop(name.length + 1).trim)
        field("Name") -> field("Cpus_allowed_list")
      }
      .groupMap(_._1)(_._2)
      .map { case (name, lists) => name -> lists.toSet }
  }

  private def eventually(what: String)(check: => Boolean): Unit = {
    val end = System.nanoTime + 60000000000L
    while (!check) {
      assert(
        System.nanoTime < end,
        s"not within 60 s: $what; ${Files.readString(directory.resolve("err"))}"
      )
      Thread.sleep(20)
    }
  }

  /** Cancels the test, visibly, or fails it where `HEARTH_REQUIRE` names the feature. */
  private def absent(feature: String, why: String): Unit = {
    val required = sys.env.getOrElse("HEARTH_REQUIRE", "").split(',').contains(feature)
    if (required) fail(s"HEARTH_REQUIRE names $feature, but $why") else cancel(why)
  }

  test("communication threads get their CPUs in turn, all others keep the process's") {
    val process = command("policy=o2ntc:1,first=0").start()
    try {
      val own = Path.of("/proc/self/status")
      val all = Files
        .readString(own)
        .linesIterator
        .find(_.startsWith("Cpus_allowed_list"))
        .fold("")(_.drop(18).trim)
      val cpus = Ids.parse(all).get.stream.iterator.asScala.map(_.toString).toVector
      if (cpus.size == 1) absent("cpus", "one CPU only: nothing to bind to")
      val out = new BufferedReader(new InputStreamReader(process.getInputStream))
      val jna = out.readLine()
      def now = masks(process.pid)
      def alone(name: String) = now.get(name).exists(m => m.size == 1 && m.forall(cpus.contains))
      eventually("every communication thread has one CPU") {
        Vector("rpc-server-1-1", "shuffle-client-", "IPC Server hand").forall(alone)
      }
      eventually("threads made by them have the process's")(now.get("its child").contains(Set(all)))
      val talking = Set("rpc-server-1-1", "shuffle-client-", "IPC Server hand")
      now.foreach { case (name, lists) => if (!talking(name)) assert(lists == Set(all), name) }
      assert(talking.flatMap(now(_)).size == math.min(3, cpus.size), "in turn")
      val in = new PrintStream(process.getOutputStream, true)
      in.println("rpc-client-9-1")
      eventually("a later one too")(alone("rpc-client-9-1"))
      assert(jna.endsWith(".jar") && !jna.contains("agent.jar"), "the application's JNA is its own")
    } finally {
      process.destroyForcibly()
      process.waitFor()
    }
  }

  test(
    "where the process's CPUs are changed its communication threads get their turn of the new ones"
  ) {
    val kernel = new JnaScheduling
    val all = kernel.mask(0).get
    if (all.cardinality == 1) absent("cpus", "one CPU only: nothing to bind to")
    kernel.bind(0, Ids.parse(s"${all.nextSetBit(0)}").get)
    val process =
      try command("policy=o2ntc:1,first=0").start()
      finally { kernel.bind(0, all); () }
    try {
      def alone = masks(process.pid).get("rpc-server-1-1").map(_.forall(_.forall(_.isDigit)))
      eventually("its one CPU")(alone.contains(true))
      Thread.sleep(200) // in which the agent has begun
      val tasks = Using
        .resource(Files.list(Path.of(s"/proc/${process.pid}/task")))(_.iterator.asScala.toVector)
      tasks.foreach(task => kernel.bind(task.getFileName.toString.toInt, all))
      eventually("all CPUs")(masks(process.pid).get("hearth-affinity").contains(Set(Ids.show(all))))
      eventually("its turn of them")(alone.contains(true))
    } finally {
      process.destroyForcibly()
      process.waitFor()
    }
  }

  test(
    "where its JNA cannot be loaded the true reason is said, in one line, and the program runs"
  ) {
    val builder = command("policy=o2ntc:1")
    builder.command.add(1, "-Djna.noclasspath=true")
    val process = builder.start()
    try {
      eventually("a line")(Files.readString(directory.resolve("err")).contains("not bound"))
      val lines = Files.readString(directory.resolve("err")).linesIterator.toVector
      assert(lines.size == 1 && lines.head.contains("java.lang.UnsatisfiedLinkError: "), lines)
      assert(process.isAlive)
    } finally {
      process.destroyForcibly()
      process.waitFor()
    }
  }

  test("an argument that cannot be followed ends the JVM with one line and exit code 2") {
    for (
      (argument, because) <- Vector(
        "policy=o2acs:4" -> "takes no number",
        "device=nowhere0" -> "it has"
      )
    ) {
      val process = command(argument).start()
      assert(process.waitFor(60, TimeUnit.SECONDS))
      val said = Files.readString(directory.resolve("err"))
      assert(process.exitValue == 2 && said.linesIterator.size == 1 && said.contains(because), said)
    }
  }
}
