package io.hearth.core.testing

import java.io.ByteArrayOutputStream
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import io.hearth.core.cli.Main

/** What a child process left: exit code, standard output, standard error. */
final case class Child(exit: Int, out: String, err: String)

object Child {

  /** Runs a command, for at most a minute. */
  def run(command: Vector[String]): Child = {
    val errors = java.nio.file.Files.createTempFile("hearth-test", ".err")
    try {
      val process =
        new ProcessBuilder(command.asJava).redirectError(errors.toFile).start()
      process.getOutputStream.close()
      val out = new String(process.getInputStream.readAllBytes())
      if (!process.waitFor(60, TimeUnit.SECONDS)) process.destroyForcibly()
      Child(process.waitFor(), out, java.nio.file.Files.readString(errors))
    } finally
      java.nio.file.Files.delete(errors)
  }

  /** Runs a verb in this JVM. */
  def verb(args: String*): Child = {
    val out, err = new ByteArrayOutputStream
    val exit = Console.withOut(out)(Console.withErr(err)(Main.run(args.toVector)))
    Child(exit, out.toString, err.toString)
  }

  /** Runs it as the Python command line does: in a JVM of its own, with these options. */
  def verbWith(options: Vector[String], args: Vector[String]): Child = {
    val java = Vector(s"${sys.props("java.home")}/bin/java", "-XX:TieredStopAtLevel=1")
    val main = Vector("-cp", sys.props("java.class.path"), "io.hearth.core.cli.Main")
    run(java ++ options ++ main ++ args)
  }

  def has(program: String): Boolean =
    sys.env
      .getOrElse("PATH", "")
      .split(':')
      .exists(dir => new java.io.File(dir, program).canExecute)
}
