package io.hearth.core.launch

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.testing.{Specs, Temporary}

class MountSuite extends AnyFunSuite {

  private def ro(path: Path) = Mount(path, writable = false)
  private def rw(path: Path) = Mount(path, writable = true)

  /** In a directory that stands for one with nothing of others above it. */
  private def in(use: Path => Unit): Unit = Temporary.directory(root => use(root.toRealPath()))

  private def made(root: Path, name: String): Path = Files.createDirectories(root.resolve(name))

  test("a user names paths to read and paths to write") {
    assert(
      Mount.parse("/data, /in:ro,/out/:rw,") ==
        Right(Vector(ro(Path.of("/data")), ro(Path.of("/in")), rw(Path.of("/out"))))
    )
    for (wrong <- Seq("data", "/data,out:rw", "", " , ", ":rw", "~/data"))
      assert(Mount.parse(wrong).isLeft, wrong)
  }

  test("a path that is not there, not absolute, or the kernel's is refused by the key's name") {
    for (
      (wrong, why) <- Seq(
        "/nowhere/at all:rw" -> "'/nowhere/at all' does not exist",
        "data" -> "'data' is not an absolute path",
        "/" -> "'/' cannot be mounted",
        "/proc/self" -> "'/proc/self' cannot be mounted",
        "/usr/..:ro" -> "'/' cannot be mounted"
      )
    ) {
      val said = intercept[UserError](Mount.chosen(wrong)).getMessage
      assert(said.startsWith(s"spark.hearth.docker.mounts: $why"), wrong)
      assert(said.contains("absolute paths separated by commas") && !said.contains("\n"))
    }
  }

  test("nothing is mounted twice, and what is to be written is so below what is read") {
    in { root =>
      val in = made(root, "in")
      val out = made(root, "in/out")
      val deep = made(root, "in/out/deep")
      assert(Mounts.combined(Seq(ro(deep), rw(out), ro(in), ro(out))) == Vector(ro(in), rw(out)))
      assert(Mounts.combined(Seq(ro(root.resolve("absent")), ro(Path.of("/")))) == Vector.empty)
    }
  }

  test("the user's word on what may be written stands over what hearth finds out") {
    in { root =>
      val data = made(root, "data")
      val keys = made(root, "data/keys")
      assert(Mounts.combined(Seq(rw(data)), Seq(ro(data))) == Vector(ro(data)))
      assert(Mounts.combined(Seq(rw(data)), Seq(ro(keys))) == Vector(rw(data), ro(keys)))
    }
  }

  test("a link is there with each place to which it leads") {
    in { root =>
      val disk = made(root, "disk/data")
      val usr = made(root, "usr")
      Files.createSymbolicLink(root.resolve("second"), disk.getParent)
      val link = Files.createSymbolicLink(usr.resolve("link"), Path.of("../second"))
      val seen = Mounts.combined(Seq(ro(usr), rw(link.resolve("data")))).map(_.path)
      assert(Seq(usr, root.resolve("second/data"), disk).forall(seen.contains), seen)
      val loop = Files.createSymbolicLink(root.resolve("loop"), Path.of("loop"))
      assert(Mounts.combined(Seq(ro(loop))) == Vector.empty)
    }
  }

  test("a directory that holds more than an application's is not mounted for something in it") {
    in { root =>
      val home = made(root, "home")
      val project = made(root, "home/project")
      val shared = made(root, "shared")
      Files.setAttribute(shared, "unix:mode", Integer.valueOf(0x1ff | 0x200))
      val paths = new HostPaths(Set(home))
      val file = Files.writeString(home.resolve("in.csv"), "")
      def mounted(path: Path) = paths.named(path)
      assert(mounted(file) == Wanted(Vector(ro(file)), Vector.empty))
      assert(mounted(home) == Wanted(Vector(rw(home)), Vector.empty), "named itself")
      assert(mounted(project.resolve("a/b")) == Wanted(Vector(rw(project)), Vector.empty))
      for (above <- Seq(home, shared, Path.of("/tmp"), Path.of("/root"), Path.of("/home/alice")))
        assert(mounted(above.resolve("not-there")).mounts == Vector.empty, above)
      assert(mounted(home.resolve("out")).left == Vector(home.resolve("out")))
      assert(mounted(Path.of("/not-a-path")) == Wanted.nothing)
    }
  }

  test("files that a Java option names are read, and written where a JVM writes them") {
    in { root =>
      val logs = made(root, "logs")
      val agent = Files.writeString(root.resolve("agent.jar"), "")
      val conf = Files.writeString(root.resolve("log4j 2.xml"), "")
      def of(option: String) = ContainerFiles.ofOption(option, new HostPaths(Set.empty)).mounts
      assert(of(s"-javaagent:$agent=level=3,file:$conf") == Vector(ro(agent), ro(conf)))
      assert(of(s"-Dlog4j2.configurationFile=file://$conf") == Vector(ro(conf)))
      assert(of(s"""-Xlog:gc*:file="$logs/gc-%p.log":time""") == Vector(rw(logs)))
      assert(of(s"-XX:HeapDumpPath=$logs") == Vector(rw(logs)))
      assert(of(s"-XX:ErrorFile=$logs/not-yet/hs_err_%p.log") == Vector(rw(logs)))
      for (
        none <- Seq("-Xmx1g", "-Da=/", s"-Da=$root/absent", "-Durl=http://host/x", "-XX:+UseG1GC")
      )
        assert(of(none) == Vector.empty, none)
    }
  }

  test(
    "a container sees what its JVM's command line and environment name, and no home, key or /tmp"
  ) {
    in { root =>
      val jdk = made(root, "jdk/bin")
      val jars = made(root, "jars")
      val bin = made(root, "bin")
      val work = made(root, "work")
      val home = made(root, "home")
      val jar = Files.writeString(root.resolve("elsewhere.jar"), "")
      Files.createSymbolicLink(jars.resolve("linked.jar"), jar)
      val spec = Specs
        .shell(work, "")
        .copy(
          java = s"$jdk/java",
          javaOptions = Vector.empty,
          classPath = Vector(s"$jars/*", "/absent.jar"),
          environment = Map("PATH" -> s"$bin:$home:relative:/absent"),
          workDirectory = home
        )
      val paths = new HostPaths(Set(home))
      val wanted =
        ContainerFiles.of(spec, Map("PATH" -> "/not/this", "HOME" -> home.toString), paths)
      val seen = Mounts.combined(wanted.mounts)
      val ours = seen.filter(_.path.startsWith(root))
      assert(ours.toSet == Set(ro(jdk.getParent), ro(jars), ro(jar), ro(bin), rw(work)))
      def sees(path: String) = seen.exists(mount => Path.of(path).startsWith(mount.path))
      assert(Seq("/usr/bin", "/bin/sh", "/etc/passwd").forall(sees))
      assert(
        !Seq("/etc/shadow", "/etc/ssl/private", "/root", "/home", "/var/run/docker.sock").exists(
          sees
        )
      )
      assert(seen.filter(_.writable) == Vector(rw(work)))
    }
  }

  test("a container has the GPUs of its place, and one without a share has none") {
    val spec = Specs.shell(Path.of("/work"), "true")
    def command(gpus: String*) = Docker.command(
      spec.copy(gpus = gpus.toVector),
      "name",
      Vector.empty,
      User("1", Vector("1")),
      Vector.empty
    )
    assert(!command().contains("--gpus"))
    assert(command("0", "GPU-8f2a").containsSlice(Seq("--gpus", "\"device=0,GPU-8f2a\"")))
  }

  test("a Python is there with its packages, also where a manager's script stands for it") {
    in { root =>
      val shims = made(root, "manager/shims")
      val real = PythonFiles.of("python3", Map.empty)
      assert(real.nonEmpty && real.forall(_.isAbsolute))
      val script =
        Files.writeString(shims.resolve("python-of-a-manager"), "#!/bin/sh\nexec python3 \"$@\"\n")
      Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"))
      val path = s"$shims:${sys.env("PATH")}"
      assert(PythonFiles.of("python-of-a-manager", Map("PATH" -> path)).contains(shims.getParent))
      assert(PythonFiles.of("no-such-python", Map.empty) == Vector.empty)
    }
  }
}
