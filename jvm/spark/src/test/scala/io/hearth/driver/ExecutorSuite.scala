package io.hearth.driver

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.{Redaction, UserError}
import io.hearth.core.launch.Binding
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.{Places, Temporary}
import io.hearth.driver.testing.Places.place

class ExecutorSuite extends AnyFunSuite {
  import ExecutorSuite.{app, launch}

  private val places = Places.of(4)

  test("the three forms of the master are understood, others are refused with what to write") {
    assert(MasterUrl.parse("local-numa") == MasterUrl(None, None))
    assert(MasterUrl.parse("local-numa[4]") == MasterUrl(Some(4), None))
    assert(MasterUrl.parse("local-numa[4x12]") == MasterUrl(Some(4), Some(12)))
    assert(MasterUrl.matches("local-numa[x]") && !MasterUrl.matches("local-numabox"))
    for (
      wrong <- Seq(
        "local-numa[]",
        "local-numa[0]",
        "local-numa[4x0]",
        "local-numa[4*2]",
        "local-numa[-1]"
      )
    )
      assert(intercept[UserError](MasterUrl.parse(wrong)).getMessage.contains(s"'$wrong'"))
  }

  test("an executor's command line is exactly this") {
    val spec =
      ExecutorLaunch.compose(app, launch(place(1, "127.78.0.1")), Vector("-Xshare:auto"), None)
    assert(
      spec.command.mkString(" ") ==
        "/jdk/bin/java -Dhearth.bound=app-1 -Xmx2048m -Djava.io.tmpdir=/t -XX:ErrorFile=/logs/hs_err_pid%p.log -Dspark.driver.port=7 -XX:+UseParallelGC " +
        "-Xshare:auto @/w/.java-options -cp /h.jar:/spark/jars/* " +
        "org.apache.spark.scheduler.cluster.numa.NumaCoarseGrainedExecutorBackend " +
        "--driver-url spark://S@h:7 --executor-id 5 --hostname 127.78.0.1 --cores 2 --app-id app-1 " +
        "--resourceProfileId 0"
    )
    assert(spec.workDirectory == Path.of("/project"))
    assert(spec.binding.contains(Binding(IdSet(2, 3), IdSet(0))))
    assert(
      spec.environment == Map(
        "SPARK_USER" -> "me",
        "HEARTH_APPLICATION_TOKEN" -> "t-1",
        "HEARTH_EXECUTOR_FILES" -> "/w",
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_APPLICATION" -> "app-1",
        "SPARK_EXECUTOR_DIRS" -> "/l1,/l2",
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_PLACE" -> "1",
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS" -> "2-3",
        "SPARK_EXECUTOR_ATTRIBUTE_HEARTH_MEMORY_NODES" -> "0",
        "SPARK_EXECUTOR_ATTRIBUTE_EXECUTOR_ID" -> "5",
        "SPARK_EXECUTOR_ATTRIBUTE_LOG_FILES" -> "stdout,stderr",
        "SPARK_LOG_URL_STDOUT" -> "http://ui/stdout",
        "SPARK_LOG_URL_STDERR" -> "http://ui/stderr"
      )
    )
  }

  test("no command line of an executor shows the user's properties and agents, or a secret") {
    val users = Vector("-Xss2m", "-Ddb.password=hush", "-javaagent:/a.jar=key=hush", "-Dplain=hush")
    val planned = place(1, "a").copy(javaOptions = Vector("-XX:+UseParallelGC"))
    val startup = Vector("-Dspark.ssl.rpc.token=hush", "-Dspark.driver.port=7")
    val full = app.copy(userOptions = users :+ "-Xlog:gc", sparkOptions = startup)
    val spec = ExecutorLaunch.compose(full, launch(planned), Vector.empty, None)
    assert(!spec.command.mkString(" ").contains("hush"))
    assert(spec.privateOptions.toSet == (users.drop(1) :+ startup.head).toSet)
    assert(spec.privateOptions.size == 4, "none twice: an agent would be loaded twice")
    assert(Seq("-Xss2m", "-Xlog:gc").forall(spec.javaOptions.contains))
  }

  test("an executor that has custom resources is given the file that names them") {
    val file = Some(Path.of("/w/resource-executor.json"))
    val spec = ExecutorLaunch.compose(app, launch(place(1, "127.78.0.1")), Vector.empty, file)
    assert(spec.command.takeRight(2) == Seq("--resourcesFile", "/w/resource-executor.json"))
  }

  private def divided(amount: Int, nodes: (String, Int)*) = ResourceShares.divide(
    "spark.executor.resource.gpu.amount",
    "the master local-numa[N]",
    nodes.map(_._1).toVector,
    amount,
    places,
    address => nodes.toMap.get(address).filter(_ >= 0)
  )

  test("each GPU belongs to one executor, of its own NUMA node where there is one") {
    val far = Seq("0" -> 1, "1" -> 1, "2" -> 0, "3" -> 0)
    assert(
      divided(1, far: _*) == Map(
        0 -> Vector("2"),
        1 -> Vector("3"),
        2 -> Vector("0"),
        3 -> Vector("1")
      )
    )
    assert(
      divided(2, far ++ Seq("4" -> 0, "5" -> 0, "6" -> 1, "7" -> 1): _*)(1) == Vector("4", "5")
    )
  }

  test("GPUs of unknown nodes go to executors whose own node has none left, others only then") {
    assert(
      divided(1, "0" -> 0, "1" -> 0, "2" -> 0, "3" -> -1, "4" -> -1) ==
        Map(0 -> Vector("0"), 1 -> Vector("1"), 2 -> Vector("3"), 3 -> Vector("4"))
    )
    assert(divided(1, "0" -> 0, "1" -> 0, "2" -> 0, "3" -> 0)(3) == Vector("3"))
  }

  test("fewer GPUs than the executors need are refused with the key and the number") {
    val message = intercept[UserError](divided(1, "0" -> 0, "1" -> 1)).getMessage
    assert(
      message == "spark.executor.resource.gpu.amount: 4 executors of 1 each need 4, and this machine has 2 " +
        "(0, 1); ask for fewer executors with the master local-numa[N], or for less in each"
    )
  }

  test("the report of a crash is named where it stays, a per cent sign in its path and all") {
    Temporary.directory { root =>
      val directory = Files.createDirectory(root.resolve("100%p logs"))
      val where = launch(place(0, "a")).copy(logs = directory)
      val options = ExecutorLaunch.compose(app, where, Vector.empty, None).javaOptions
      val crash = Vector("-Xmx16m", "-XX:+UseSerialGC", "-Xshare:auto") ++
        options.filter(_.startsWith("-XX:ErrorFile")) ++ Vector("-XX:+CrashOnOutOfMemoryError")
      val command = Vector(s"${sys.props("java.home")}/bin/java") ++ crash ++
        Vector("-cp", sys.props("java.class.path"), "io.hearth.driver.Outgrow")
      val process = new ProcessBuilder(command: _*).directory(directory.toFile).start()
      assert(process.waitFor() == 134, new String(process.getErrorStream.readAllBytes()))
      val report = ExitStatus.crashReport(directory)
      assert(report.contains(directory.resolve(s"hs_err_pid${process.pid}.log")))
    }
  }

  test("the user's options come behind the plan's, and unbound is unbound") {
    val planned = place(0, "a").copy(javaOptions = Vector("-XX:+UseG1GC"))
    val users = app.copy(userOptions = Vector("-Xss2m", "-Duser=1"))
    val spec = ExecutorLaunch.compose(users, launch(planned, bound = false), Vector.empty, None)
    assert(spec.javaOptions.takeRight(2) == Vector("-XX:+UseG1GC", "-Xss2m"))
    assert(spec.privateOptions == Vector("-Duser=1"))
    assert(spec.binding.isEmpty)
  }

  test("exit codes of killed executors are explained with what to do") {
    assert(ExitStatus.explain(137).contains("out-of-memory killer"))
    assert(ExitStatus.explain(137).contains("spark.executor.memoryOverhead"))
    assert(ExitStatus.explain(143).contains("SIGTERM"))
    assert(ExitStatus.explain(130) == "exit 130: ended by signal 2")
    val ended = "exit 3: the JVM ended itself on an OutOfMemoryError (-XX:+ExitOnOutOfMemoryError)"
    assert(ExitStatus.explain(3).startsWith(ended))
    assert(ExitStatus.explain(1) == "exit 1")
  }
}

/** Takes more memory than there is. */
object Outgrow {
  def main(args: Array[String]): Unit = println(new Array[Long](1 << 28).length)
}

object ExecutorSuite {

  val app = ApplicationLaunch(
    appId = "app-1",
    java = "/jdk/bin/java",
    classPath = Vector("/h.jar", "/spark/jars/*"),
    sparkOptions = Vector("-Dspark.driver.port=7"),
    userOptions = Vector("-Duser=1"),
    environment = Map("SPARK_USER" -> "me"),
    driverUrl = "spark://S@h:7",
    token = "t-1",
    redaction = Redaction.of(_ => None)
  )

  def launch(place: ExecutorPlan, bound: Boolean = true) = ExecutorLaunch(
    id = "5",
    place = place,
    host = place.host,
    binding = Option.when(bound)(place.binding),
    startsIn = Path.of("/project"),
    workDirectory = Path.of("/w"),
    temporary = Path.of("/t"),
    localDirs = Vector(Path.of("/l1"), Path.of("/l2")),
    logs = Path.of("/logs"),
    logUrl = Some(name => s"http://ui/$name")
  )
}
