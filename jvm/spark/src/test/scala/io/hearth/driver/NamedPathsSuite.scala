package io.hearth.driver

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.launch.{HostPaths, Mount}
import io.hearth.driver.testing.Temporary

class NamedPathsSuite extends AnyFunSuite {
  private val submit = "org.apache.spark.deploy.SparkSubmit"

  /** In a home with a project, from which the driver runs, data and keys. */
  private def in(use: Path => Unit): Unit = Temporary.directory { root =>
    Seq("project", "data/2026-11", "keys").foreach(name =>
      Files.createDirectories(root.resolve(name))
    )
    Seq("data/list.csv", "keys/key", "project/relative.csv").foreach(name =>
      Files.writeString(root.resolve(name), "")
    )
    use(root)
  }

  private def seen(root: Path, settings: Map[String, String], words: String*): Set[String] =
    new NamedPaths(new HostPaths(Set(root)), root.resolve("project"))
      .of(settings, words.toVector)
      .mounts
      .map(mount => root.relativize(mount.path).toString + (if (mount.writable) ":rw" else ""))
      .toSet

  test("the application's arguments are what stands behind its file") {
    val options = Vector("--conf", "a=b", "--verbose", "--class", "Main", "--name=x")
    def of(words: String*) = NamedPaths.arguments(Vector("java", "-cp", "/x", submit) ++ words)
    assert(of(options ++ Vector("job.jar", "--class", "/in"): _*) == Vector("--class", "/in"))
    assert(of(options :+ "pyspark-shell": _*) == Vector.empty)
    assert(NamedPaths.arguments(Vector("java", "Main", "/in")) == Vector.empty)
  }

  test("the program of a driver is what spark-submit was given, or the Python that made its JVM") {
    def submitted(words: String*) =
      NamedPaths.program(Vector("java", submit) ++ words, Vector("bash"))
    assert(submitted("--name", "x", "job/main.py", "other.py").contains("job/main.py"))
    assert(submitted("file:/job/main.py").contains("/job/main.py"))
    assert(submitted("job.jar", "main.py").isEmpty)
    def parent(words: String*) =
      NamedPaths.program(Vector("java", submit, "pyspark-shell"), words.toVector)
    assert(
      parent("/venv/bin/python3.11", "-u", "-W", "error", "main.py", "x.py").contains("main.py")
    )
    for (
      none <- Seq(
        Vector("python", "-m", "job", "main.py"),
        Vector("python3", "-c", "import pyspark", "main.py"),
        Vector("python3", "/venv/bin/ipython"),
        Vector("python3"),
        Vector("bash", "main.py"),
        Vector.empty
      )
    )
      assert(parent(none: _*).isEmpty, none)
  }

  test("data that arguments name can be read, and written where it is a directory") {
    in { root =>
      val always = Set("project:rw")
      def of(words: String*) = seen(root, Map.empty, words: _*) -- always
      assert(of(s"$root/data") == Set("data:rw"))
      assert(of(s"--in=$root/data/list.csv", "-v") == Set("data/list.csv"))
      assert(
        of(s"file:$root/data/2026-11,file://$root/keys/key") == Set("data/2026-11:rw", "keys/key")
      )
      assert(of(s"$root/data/20*/part-{1,2}.parquet") == Set("data:rw"))
      assert(of("../data/list.csv") == Set("data/list.csv"))
      assert(of(s"$root/data/out/of/tonight") == Set("data:rw"))
      assert(
        of("count", "3", "/", "--to=/api", s"hdfs://host$root/data", s"$root/out") == Set.empty
      )
    }
  }

  test("a driver that runs in a home directory does not show it") {
    in { root =>
      val paths = new NamedPaths(new HostPaths(Set(root)), root)
      assert(paths.of(Map.empty, Vector("unknown")).mounts == Vector.empty)
      assert(
        paths.of(Map.empty, Vector("data")).mounts == Vector(
          Mount(root.resolve("data"), writable = true)
        )
      )
    }
  }

  test("settings name files too, but for those that are the driver's alone") {
    in { root =>
      def of(key: String, value: String) = seen(root, Map(key -> value)) - "project:rw"
      assert(of("spark.sql.warehouse.dir", s"file:$root/data/warehouse") == Set("data:rw"))
      assert(of("spark.executorEnv.MODELS", s"$root/keys:$root/data") == Set("keys:rw", "data:rw"))
      assert(of("spark.ssl.rpc.keyStore", s"$root/keys/key") == Set("keys/key"))
      assert(of("spark.files", s"$root/keys/key,local:$root/data/list.csv") == Set("data/list.csv"))
      for (
        key <- Seq("spark.jars", "spark.eventLog.dir", "spark.driver.extraClassPath") ++
          Seq("spark.kerberos.keytab", "spark.hearth.runs.dir", "spark.local.dir") ++
          Seq("spark.executorEnv.PATH", "spark.executor.extraClassPath", "spark.pyspark.python")
      ) assert(of(key, s"$root/keys") == Set.empty, key)
    }
  }

  test("a task that misses a file of this machine is answered with the setting that shows it") {
    in { root =>
      val paths = new UnseenPaths(new HostPaths(Set(root)))
      val mounts =
        Vector(Mount(root.resolve("project"), writable = true), Mount(root.resolve("keys"), false))
      def of(failure: String) =
        paths.advice(failure, mounts).map(_._2.split('=').last.replace(root.toString, ""))
      val (list, data) = (root.resolve("data/list.csv"), root.resolve("data"))
      assert(of(s"java.io.FileNotFoundException: File file:$list does not exist") == Some("/data"))
      assert(of(s"[FAILED_READ_FILE.FILE_NOT_EXIST] reading file://$list. Gone.") == Some("/data"))
      assert(
        of(s"x\nFileNotFoundError: [Errno 2] No such file or directory: '$list'") == Some("/data")
      )
      assert(of(s"OSError: [Errno 30] Read-only file system: '$data/out'") == Some("/data:rw"))
      assert(
        of(s"Mkdirs failed to create file:$data/_temporary (exists=false)") == Some("/data:rw")
      )
      assert(of(s"Read-only file system: '$root/keys/new'") == Some("/keys:rw"))
      for (
        other <- Seq(
          s"No such file or directory: '$root/project/absent'",
          s"No such file or directory: '$root/absent/absent'",
          s"ValueError: $list",
          s"""  File "$list", line 3, in f"""
        )
      ) assert(of(other).isEmpty, other)
    }
  }
}
