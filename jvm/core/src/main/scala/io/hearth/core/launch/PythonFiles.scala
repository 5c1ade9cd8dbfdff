package io.hearth.core.launch

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

/** Where a Python has its program, its library and its packages: as it says itself. */
object PythonFiles {
  private val AnswerSeconds = 30L

  /** An environment has its packages, the Python that it was made from the library (PEP 405). */
  private val Question =
    "import sys; print(*{sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path}, sep='\\n')"

  /**
   * @param program as Spark starts it: a path, or a name to be found
   * @return nothing where there is no such program here
   */
  def of(program: String, environment: Map[String, String]): Vector[Path] = {
    val words = Vector("sh", "-c", "exec \"$0\" -c \"$1\"", program, Question)
    val builder = new ProcessBuilder(words.asJava)
    builder.environment.putAll(environment.asJava)
    val process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start()
    process.getOutputStream.close()
    val watch = process.onExit().orTimeout(AnswerSeconds, TimeUnit.SECONDS)
    watch.exceptionally { _ =>
      process.destroyForcibly()
      process
    }
    val said = new String(process.getInputStream.readAllBytes(), UTF_8)
    shims(program, environment) ++ said.linesIterator.filter(_.startsWith("/")).map(Path.of(_))
  }

  /** pyenv's and asdf's programs are scripts in `shims`, which need the rest of what lies beside it. */
  private def shims(program: String, environment: Map[String, String]): Vector[Path] =
    environment
      .getOrElse("PATH", "")
      .split(':')
      .map(Path.of(_))
      .find(directory => Files.isExecutable(directory.resolve(program)))
      .filter(_.endsWith("shims"))
      .map(_.getParent)
      .toVector
}
