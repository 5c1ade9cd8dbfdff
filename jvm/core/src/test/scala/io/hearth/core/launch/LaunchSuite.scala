package io.hearth.core.launch

import java.nio.file.{Files, Path}

import scala.sys.process.stringToProcess

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.affinity.{BindingRefused, LinuxScheduling}
import io.hearth.core.testing.{Required, Specs, Temporary}
import io.hearth.core.topology.IdSet

class LaunchSuite extends AnyFunSuite {

  private def shell(directory: Path, script: String, binding: Option[Binding]) = Specs
    .shell(directory, script)
    .copy(environment = Map("HEARTH_TEST" -> "as set"), binding = binding)

  private def writer(use: ArchiveUse): ArchiveUse.Write = use match {
    case write: ArchiveUse.Write => write
    case other => fail(other.toString)
  }

  private def run(directory: Path, script: String, binding: Option[Binding]): String = {
    val process = Processes.start(shell(directory, script, binding), "1")
    assert(process.waitFor() == 0, Files.readString(directory.resolve("stderr")))
    Files.readString(directory.resolve("stdout"))
  }

  test("a bound process runs on its CPUs under its memory policy from its first instruction") {
    Temporary.directory { directory =>
      val cpu = LinuxScheduling.cpusOfThread().last
      val script = "grep Cpus_allowed_list /proc/self/status; head -1 /proc/self/numa_maps"
      val said = run(directory, script, Some(Binding(IdSet(cpu), IdSet(0))))
      assert(said.contains(s"Cpus_allowed_list:\t$cpu\n"))
      assert(said.contains(" bind:0 "))
    }
  }

  test("a private option reaches the JVM whatever it holds, by a file of its owner's alone") {
    Temporary.directory { directory =>
      val value = """a "b" \\ #c 'd'"""
      val java = s"${System.getProperty("java.home")}/bin/java"
      val spec = shell(directory, "", None).copy(
        java = java,
        javaOptions = Vector("-XshowSettings:properties"),
        privateOptions = Vector(s"-Dmy.password=$value", "-Dother=1"),
        mainClass = "-version"
      )
      assert(!spec.command.mkString(" ").contains("password"))
      assert(Processes.start(spec, "1").waitFor() == 0)
      val said = Files.readString(spec.stderr)
      assert(said.contains(s"my.password = $value") && said.contains("other = 1"))
      spec.argumentFile.toVector.appendedAll(Vector(spec.stdout, spec.stderr)).foreach { file =>
        assert(Files.getPosixFilePermissions(file).size == 2, file)
      }
    }
  }

  test("starting a bound process leaves the starting thread where it was") {
    Temporary.directory { directory =>
      val before = LinuxScheduling.cpusOfThread()
      run(directory, "true", Some(Binding(IdSet(before.head), IdSet(0))))
      assert(LinuxScheduling.cpusOfThread() == before)
    }
  }

  test(
    "a process leads a session of its own, sees its environment and inherits the CPUs when unbound"
  ) {
    Temporary.directory { directory =>
      val script =
        "echo $HEARTH_TEST; cut -d' ' -f6 /proc/$$/stat; echo $$; grep Cpus_allowed_list /proc/self/status"
      val said = run(directory, script, None).split("\n").toVector
      assert(said(0) == "as set")
      assert(said(1) == said(2), "session and process id")
      assert(said(3) == s"Cpus_allowed_list:\t${LinuxScheduling.cpusOfThread()}")
    }
  }

  test("CPUs that the kernel does not have are refused by name, and nothing is started") {
    Temporary.directory { directory =>
      val spec = shell(directory, "touch started", Some(Binding(IdSet(40000), IdSet(0))))
      val refused = intercept[BindingRefused](Processes.start(spec, "1"))
      assert(refused.call == "sched_setaffinity")
      assert(
        refused.getMessage.startsWith(
          "the kernel refused sched_setaffinity for CPUs 40000 (errno 22)"
        )
      )
      assert(refused.getMessage.endsWith("see `hearth topology`)") && refused.getStackTrace.isEmpty)
      assert(!Files.exists(directory.resolve("started")))
    }
  }

  test(
    "a memory node that the kernel does not have is refused by name, and nothing is started half-bound"
  ) {
    Temporary.directory { directory =>
      val cpu = LinuxScheduling.cpusOfThread().head
      val spec = shell(directory, "touch started", Some(Binding(IdSet(cpu), IdSet(900))))
      assert(intercept[BindingRefused](Processes.start(spec, "1")).call == "set_mempolicy")
      assert(!Files.exists(directory.resolve("started")))
    }
  }

  test("a container's command line is exactly this, with no value of the environment in it") {
    val spec = shell(Path.of("/w"), "true", Some(Binding(IdSet(2, 3), IdSet(1))))
    def command(spec: LaunchSpec) = Docker
      .command(
        spec,
        "hearth-app-0",
        Vector(
          Mount(Path.of("/data,1"), writable = true),
          Mount(Path.of("/usr"), writable = false)
        ),
        User("1000", Vector("1000", "27")),
        Vector("HEARTH_TEST", "SECRET")
      )
      .mkString(" ")
    assert(
      command(spec) ==
        "docker run --pull never --rm --name hearth-app-0 --log-driver none --cap-drop ALL " +
        "--security-opt no-new-privileges --pid host --network host --ipc host " +
        "--user 1000:1000 --group-add 27 --cpuset-cpus 2-3 --cpuset-mems 1 --read-only " +
        "--mount type=bind,\"source=/data,1\",\"target=/data,1\" " +
        "--mount type=bind,source=/usr,target=/usr,readonly --env HEARTH_TEST --env SECRET hearth-empty:1 " +
        "sh -c cd \"$0\" && exec \"$@\" /w sh -c true -cp unused unused"
    )
    assert(!command(spec.copy(binding = None)).contains("cpuset"))
  }

  test("a container has the variables by which Spark, Java and Python go, and no others") {
    val kept = Vector("HADOOP_CONF_DIR", "HEARTH_LEASES", "HOME", "JAVA_HOME", "LC_ALL", "PATH") ++
      Vector("PYSPARK_PYTHON", "PYTHONPATH", "SPARK_HOME", "TZ")
    val others =
      Vector("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "TMPDIR", "MY_OWN") ++
        Vector("PYSPARK_GATEWAY_SECRET", "PYSPARK_GATEWAY_PORT", "SPARK_SSL_PASSWORD")
    assert(ContainerEnvironment.of(others ++ kept.reverse) == kept)
  }

  test("without an engine, or without Docker's command, the user reads what to do") {
    val docker = new ProcessBuilder("sh", "-c", "command -v docker").start().waitFor() == 0
    Required("docker", docker, "the docker command")
    def said(client: String*) = intercept[UserError](Docker.prepare(client.toVector)).getMessage
    val engine = said("docker", "--host", "unix:///nowhere/docker.sock")
    assert(engine.startsWith("spark.hearth.launcher: docker cannot be used here: "))
    assert(engine.contains("/nowhere/docker.sock") && engine.contains("start the engine"))
    assert(said("/nowhere/docker").contains("the docker command is not installed: install Docker"))
    assert(
      said("/etc/passwd").contains("cannot be started: ") && !said("/etc/passwd").contains(
        "install"
      )
    )
  }

  test("any application id becomes a name that Docker takes") {
    assert(Docker.containerName("hearth-nightly report/ä-3") == "hearth-nightly-report---3")
  }

  test("the own user has the own group first, once") {
    val own = User.own()
    assert(own.id == "id -u".!!.trim)
    assert(own.groups.head == "id -g".!!.trim)
    assert(own.groups.toSet == "id -G".!!.trim.split(' ').toSet)
    assert(own.groups.distinct == own.groups)
  }

  test("a directory's jars become one wildcard, and only when all of them are there") {
    val spark = Set("a.jar", "b.jar").map(name => Path.of("/spark", name))
    def collapse(entries: String*) = ClassPath.collapse(entries.toVector, _ => spark)
    assert(
      collapse("/x/h.jar", "/conf", "/spark/a.jar", "/spark/b.jar", "/y") ==
        Vector("/x/h.jar", "/conf", "/spark/*", "/y")
    )
    assert(collapse("/spark/a.jar", "/conf") == Vector("/spark/a.jar", "/conf"))
    assert(collapse() == Vector.empty)
  }

  test("an archive is written once, then used; another jar or another JVM has another") {
    Temporary.directory { directory =>
      val jar = Files.writeString(directory.resolve("a.jar"), "one")
      def use(java: String) =
        ClassDataArchive.use(
          directory.resolve("cache"),
          Vector(jar.toString, "/absent"),
          java,
          "app"
        )
      val first = use("17")
      val write = writer(first)
      assert(!write.publish(exit = 0, _ => true))
      Files.writeString(write.partial, "classes")
      assert(write.publish(exit = 0, _ => true))
      assert(use("17") == ArchiveUse.Ready(write.archive))
      assert(use("21").isInstanceOf[ArchiveUse.Write])
      Files.writeString(jar, "changed")
      assert(use("17").isInstanceOf[ArchiveUse.Write])
    }
  }

  test("a cache whose name has colons, which a JVM takes for several archives, holds none") {
    Temporary.directory { directory =>
      val use = ClassDataArchive.use(directory.resolve("a:b:c"), Vector("/absent"), "17", "app")
      assert(use.options.isEmpty && use.toString.contains("has a colon"))
    }
  }

  test("an archive is not what a killed JVM left of it") {
    Temporary.directory { directory =>
      for (exit <- Vector(137, 143, 1)) {
        val write =
          writer(ClassDataArchive.use(directory.resolve("cache"), Vector("/absent"), "17", "app"))
        Files.writeString(write.partial, "cla")
        assert(!write.publish(exit, _ => true) && !Files.exists(write.archive), exit)
        assert(!Files.exists(write.partial), exit)
      }
    }
  }

  test("a JVM that writes its archive, or starts from it, leaves standard output to the program") {
    Temporary.directory { directory =>
      val java = s"${System.getProperty("java.home")}/bin/java"
      val jars = System.getProperty("java.class.path").split(':').filter(_.endsWith(".jar"))
      val written = directory.resolve("written")
      val uses = Vector(ArchiveUse.Write(written, written), ArchiveUse.Ready(written))
      for (use <- uses) {
        val program = Vector("-cp", jars.mkString(":"), "org.scalatest.tools.Runner", "-oW")
        // One of the module options with which Spark starts its JVMs.
        val opens = Vector("--add-opens", "java.base/java.lang=ALL-UNNAMED")
        val process = new ProcessBuilder(java +: (use.options ++ opens ++ program): _*)
          .redirectError(ProcessBuilder.Redirect.DISCARD)
          .start()
        val said = new String(process.getInputStream.readAllBytes())
        assert(process.waitFor() == 0 && Files.exists(written), said)
        assert(said.contains("Run starting") && !said.contains("cds]"), said)
      }
    }
  }

  test(
    "an archive that a JVM refuses is not put in its place: one cut off, with a flipped bit, or garbage"
  ) {
    Temporary.directory { directory =>
      val java = s"${System.getProperty("java.home")}/bin/java"
      val jar = System.getProperty("java.class.path").split(':').find(_.endsWith(".jar")).get
      val written = directory.resolve("written")
      val make =
        Vector(java, "-Xshare:auto", s"-XX:ArchiveClassesAtExit=$written", "-cp", jar, "-version")
      assert(new ProcessBuilder(make: _*).redirectErrorStream(true).start().waitFor() == 0)
      val whole = Files.readAllBytes(written)
      val check =
        new ArchiveCheck(java, Vector("-Dx=y", "-Xmx512m", "-XX:+UseParallelGC"), Vector(jar))
      def published(content: Array[Byte]) = {
        val write =
          writer(ClassDataArchive.use(directory.resolve("cache"), Vector(jar), "17", "app"))
        Files.write(write.partial, content)
        val done = write.publish(exit = 0, check.sound)
        assert(!Files.exists(write.partial) && Files.exists(write.archive) == done)
        done
      }
      val middle = whole.length / 2
      val damaged = Vector(
        whole.take(middle),
        whole.updated(middle, (whole(middle) ^ 1).toByte),
        Array.fill(whole.length)(7.toByte),
        Array.emptyByteArray
      )
      damaged.foreach(content => assert(!published(content)))
      assert(published(whole))
    }
  }

  test("an archive that was cut off, changed or left without its checksum is made anew") {
    Temporary.directory { directory =>
      val cache = directory.resolve("cache")
      def use() = ClassDataArchive.use(cache, Vector("/absent"), "17", "app")
      val bytes = Array.tabulate(100000)(n => (n % 251).toByte)
      def made(): Path = {
        val write = writer(use())
        Files.write(write.partial, bytes)
        assert(write.publish(exit = 0, _ => true) && use() == ArchiveUse.Ready(write.archive))
        write.archive
      }
      val damages = Vector.range(0, bytes.length, 9973).map(bytes.take) ++
        Vector.range(0, bytes.length, 9973).map(at => bytes.updated(at, (bytes(at) ^ 1).toByte)) :+
        (bytes :+ 0.toByte)
      for (damaged <- damages) {
        val archive = made()
        Files.write(archive, damaged)
        assert(use().isInstanceOf[ArchiveUse.Write] && !Files.exists(archive))
      }
      Files.delete(Checksum.fileOf(made()))
      Files.writeString(Checksum.fileOf(made()), "garbage")
      made()
    }
  }

  test("where the cache cannot be written there is no archive, and a reason") {
    Temporary.directory { directory =>
      val file = Files.writeString(directory.resolve("file"), "")
      ClassDataArchive.use(file.resolve("cache"), Vector("/absent"), "17", "app") match {
        case ArchiveUse.Without(reason) => assert(reason.contains("cannot be written"))
        case other => fail(other.toString)
      }
    }
  }

  test(
    "an archive of jars fits a class path with a filled directory behind them, which writes none"
  ) {
    Temporary.directory { directory =>
      val jar = Files.writeString(directory.resolve("a.jar"), "one").toString
      val conf = Files.createDirectory(directory.resolve("conf")).toString
      Files.writeString(Path.of(conf, "spark-defaults.conf"), "")
      def use(classPath: String*) =
        ClassDataArchive.use(directory.resolve("cache"), classPath.toVector, "17", "app")
      assert(use(jar, conf).isInstanceOf[ArchiveUse.Without])
      val write = writer(use(jar, "/absent"))
      Files.writeString(write.partial, "classes")
      assert(write.publish(exit = 0, _ => true))
      assert(use(jar, conf) == ArchiveUse.Ready(write.archive))
      assert(use(conf, jar).isInstanceOf[ArchiveUse.Without])
    }
  }

  test("the newest archives of a few jars stay, older ones are removed") {
    Temporary.directory { directory =>
      for (n <- 1 to 6) {
        val file = Files.writeString(directory.resolve(s"executor-a$n.jsa"), "")
        Files.setLastModifiedTime(file, java.nio.file.attribute.FileTime.fromMillis(n * 1000L))
      }
      Files.writeString(directory.resolve("driver-a1.jsa"), "")
      ClassDataArchive.dropOldest(directory)
      val left = directory.toFile.list.toSet
      assert(left == Set("driver-a1.jsa") ++ (3 to 6).map(n => s"executor-a$n.jsa"))
    }
  }
}
