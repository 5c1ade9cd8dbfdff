package io.hearth.driver

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.testing.Temporary

/** What real JVMs say of their own end. */
class LastWordsSuite extends AnyFunSuite {
  private val java = s"${sys.props("java.home")}/bin/java"

  /** Runs a command with an executor's two logs. @return its exit code */
  private def run(logs: Path, options: String, command: Seq[String]): Int = {
    val builder = new ProcessBuilder(command: _*)
    builder.environment.put("JAVA_TOOL_OPTIONS", options)
    builder
      .redirectOutput(logs.resolve("stdout").toFile)
      .redirectError(logs.resolve("stderr").toFile)
    builder.start().waitFor()
  }

  private def run(logs: Path, command: String*): Int = run(logs, "-Dlicence.key=hush", command)

  test(
    "why an executor cannot listen is told by its error, which Spark's advice does not look at"
  ) {
    def remedy(error: String) = ExitStatus
      .remedy(
        s"java.net.BindException: $error: Service 'org.apache.spark.network.netty.NettyBlockTransferService' " +
          "failed after 16 retries (on a random free port)! Consider explicitly setting"
      )
      .get
    assert(remedy("Address already in use").startsWith("no free port"))
    assert(remedy("Cannot assign requested address").endsWith("set spark.hearth.hosts=machine"))
    assert(
      remedy("bind(..) failed with error(-13): Permission denied").contains("unprivileged_port")
    )
  }

  test("options that a JVM has picked up are not quoted, on how many lines they may stand") {
    Temporary.directory { logs =>
      val options = "-Dlicence.key=hush\n  -Dpassword=hush\n\n-Dtext='two\nhush\nlines' -Xss1m"
      assert(run(logs, options, Seq(java, "-XX:+UseG1GC", "-XX:+UseSerialGC", "-version")) == 1)
      val words = ExitStatus.lastWordsIn(logs)
      assert(words.toLowerCase.contains("multiple garbage collectors selected"), words)
      assert(!words.contains("hush") && !words.contains("Xss1m"), words)
    }
    val open = "NOTE: Picked up _JAVA_OPTIONS: -Da='b\nUnmatched quote\nPicked up X: -Dc\nthe end"
    assert(ExitStatus.withoutOptions(open) == "\nUnmatched quote\n\nthe end")
  }

  test("a program's standard output is no last word where standard error has one") {
    Temporary.directory { logs =>
      run(logs, "sh", "-c", "echo result; echo the reason >&2; exit 1")
      assert(ExitStatus.lastWordsIn(logs) == "the reason")
      run(logs, "sh", "-c", "echo nothing but this; exit 1")
      assert(ExitStatus.lastWordsIn(logs) == "nothing but this")
    }
  }

  test("a JVM that could make no more threads is said to, first, with the limits that there are") {
    Temporary.directory { logs =>
      val user = Seq("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
      assume(run(logs, user :+ "true": _*) == 0, "only root can become another user")
      // A source file, which another user can read where it cannot read the class path of this test.
      val program = Files.writeString(logs.resolve("Threads.java"), LastWordsSuite.Threads)
      Files.setPosixFilePermissions(logs, PosixFilePermissions.fromString("rwxr-xr-x"))
      val limited = user ++ Seq("prlimit", "--nproc=60", java, "-XX:+UseSerialGC", s"$program")
      val exit = run(logs, limited: _*)
      val said = ExitStatus.withoutThreads(exit, logs, "pids.max is 60: raise it")
      assert(
        said.contains(s"it could not start any more threads: pids.max is 60: raise it; exit $exit"),
        ExitStatus.lastWordsIn(logs)
      )
      assert(ExitStatus.withoutThreads(137, logs, "?").isEmpty, "somebody killed it later")
    }
  }
}

object LastWordsSuite {

  /** Makes threads without end. */
  private val Threads =
    """public class Threads {
      |  public static void main(String[] args) {
      |    while (true) {
      |      Thread thread = new Thread(() -> { try { Thread.sleep(60000); } catch (InterruptedException e) {} });
      |      thread.setDaemon(true);
      |      thread.start();
      |    }
      |  }
      |}
      |""".stripMargin
}
