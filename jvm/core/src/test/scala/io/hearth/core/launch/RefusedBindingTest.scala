package io.hearth.core.launch

import java.nio.file.Path

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.Project
import io.hearth.core.testing.{Child, Required, Temporary}
import io.hearth.core.topology.SysTree

/** What is started where the kernel, or the file system, does not let a process be bound. */
class RefusedBindingTest extends AnyFunSuite {
  private val java = Vector(s"${sys.props("java.home")}/bin/java", "-XX:TieredStopAtLevel=1")

  /** What is said of a start where the kernel refuses memory policies with this error. */
  private def refusing(errno: Int, directory: Path, nodes: String): String = {
    Required("python3", Child.has("python3"), "python3")
    val refuse = Vector("python3", Project.file("tests/refusing.py").toString, s"$errno")
    val main = Vector("-cp", sys.props("java.class.path"), "io.hearth.core.testing.StartBound")
    val child = Child.run(refuse ++ java ++ main ++ Vector(directory.toString, nodes))
    assert(child.exit == 0, child.toString)
    child.out
  }

  test("a refused memory policy is explained by its error, and its CPUs can be bound without it") {
    Temporary.directory { directory =>
      def said(errno: Int, nodes: String) = refusing(errno, directory, nodes)
      val denied = said(1, "900")
      assert(
        denied.contains("the kernel refused set_mempolicy for memory nodes 900 (errno 1): EPERM")
      )
      assert(denied.contains("only these nodes: false"))
      assert(said(38, "0").contains("(errno 38): ENOSYS: this kernel, or the sandbox"))
      val last = said(1, "")
      assert(last.matches("(?s)Cpus_allowed_list:\t\\d+\n.*"), last)
    }
  }

  test("on a machine with one memory node there is no memory to bind") {
    Temporary.directory { directory =>
      val nodes = new SysTree(Path.of("/"))
        .list("sys/devices/system/node/has_memory")
      Required("one node", nodes.forall(_.size == 1), "a machine with one memory node")
      val all = refusing(1, directory, nodes.fold("0")(_.toString))
      assert(all.contains("BindingRefused") && all.contains("only these nodes: true"))
    }
  }

  /** Runs a JVM whose JNA has a directory on a file system that is mounted noexec. */
  private def onNoexec(directory: Path)(words: String*): Child = {
    val script = s"mount -t tmpfs -o noexec none $directory && exec timeout -k1 40 \"$$@\""
    val options = Vector(s"-Djna.tmpdir=$directory/of-jna", "-cp", sys.props("java.class.path"))
    Child.run(Vector("unshare", "--mount", "sh", "-c", script, "sh") ++ java ++ options ++ words)
  }

  test("native code in a directory mounted noexec is one sentence that names it, and no hang") {
    val probe = Child.run(Vector("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"))
    Required("root", probe.exit == 0, "a mount namespace of one's own")
    Temporary.directory { directory =>
      val jvm = onNoexec(directory) _
      val sentence = "hearth cannot call the kernel: JNA's native code cannot be loaded from " +
        s"$directory/of-jna, as $directory is mounted noexec; name a directory from which programs may be run " +
        "with the Java option -Djna.tmpdir=DIRECTORY (of a Spark driver: spark.driver.extraJavaOptions; of the " +
        "command hearth: JAVA_TOOL_OPTIONS)"
      val bound =
        jvm(Seq("io.hearth.core.testing.StartBound", s"$directory/work", "0", "known CPUs"))
      assert(bound.out.linesIterator.next() == s"BindingRefused: $sentence", bound.toString)
      val verb = jvm(Seq("io.hearth.core.cli.Main", "bandwidth"))
      assert(verb.exit == 2 && verb.err.trim == sentence, verb.toString)
    }
  }
}
