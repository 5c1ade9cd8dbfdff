package io.hearth.driver

import java.nio.file.{Files, Path}

import io.hearth.core.launch.{HostPaths, Mount, Wanted}

/**
 * The files that an application's user has named, for its executors' containers: in its settings, among its
 * own arguments, and by the directory in which its driver runs.
 *
 * @param directory the driver's, from which paths without a leading slash are meant
 */
final class NamedPaths(paths: HostPaths, directory: Path) {

  /** @param arguments those of the application itself */
  def of(settings: Map[String, String], arguments: Vector[String]): Wanted = {
    val here =
      if (paths.isShared(directory)) Wanted.nothing
      else Wanted(Vector(Mount(directory, writable = true)), Vector.empty)
    val ofSettings = settings.toVector.flatMap { case (key, value) => ofSetting(key, value) }
    here ++ Wanted.all((ofSettings ++ arguments.flatMap(ofArgument)).map(paths.named))
  }

  private def ofSetting(key: String, value: String): Vector[Path] = {
    val parts = value.split(',').toVector.map(_.trim)
    if (NamedPaths.Sent(key)) parts.filter(_.startsWith("local:")).flatMap(absolute)
    else if (NamedPaths.Passed.exists(key.startsWith)) Vector.empty
    else parts.flatMap(absolute)
  }

  /** `PATH`, `--name=PATH`; without a leading slash if it is there. */
  private def ofArgument(word: String): Vector[Path] = {
    val values = Vector(word, word.dropWhile(_ != '=').drop(1)).distinct.filter(_.nonEmpty)
    val relative = values.filterNot(_.startsWith("/")).map(directory.resolve(_).normalize)
    values.flatMap(_.split(',')).flatMap(absolute) ++ relative.filter(Files.exists(_))
  }

  /** Paths and `file:` addresses, several with `:` between them as in a class path; patterns by what is fixed. */
  private def absolute(value: String): Vector[Path] =
    value
      .replaceFirst("^(file|local):/+", "/")
      .split(':')
      .toVector
      .filter(_.startsWith("/"))
      .map(text =>
        Path.of(text.split('/').takeWhile(!_.exists(NamedPaths.Pattern)).mkString("/", "/", ""))
      )
      .map(_.normalize)
      .filter(_.getNameCount > 0)
}

object NamedPaths {
  private val Pattern = Set('*', '?', '[', '{')

  /** What Spark sends to executors, unless it is there already (`local:`). */
  private val Sent =
    Set("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")

  /** Beginnings of settings that are the driver's business alone, or another cluster manager's. */
  private val Drivers =
    "app deploy driver eventLog hearth history jars kerberos kubernetes local.dir repl " +
      "sql.hive.metastore.jars submit ui yarn"

  /** Of those that the executor's own command line and environment hold: nothing to write to. */
  private val Programs =
    "executor.extra executorEnv.HADOOP executorEnv.JAVA executorEnv.LD_LIBRARY " +
      "executorEnv.PATH executorEnv.PYTHONPATH executorEnv.SPARK_HOME pyspark"

  private val Passed = s"$Drivers $Programs".split(' ').toVector.map("spark." + _)

  /** Options of spark-submit that take no value (SparkSubmitOptionParser of Spark 4.3). */
  private val Switches =
    Set("--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error") ++
      Set("--verbose", "-v", "--version")

  /**
   * The application's own arguments.
   *
   * @param command of the driver's JVM
   * @return nothing where spark-submit has not started it
   */
  def arguments(command: Vector[String]): Vector[String] = submitted(command).drop(1)

  /**
   * The Python program of a driver.
   *
   * @param command of the driver's JVM, which spark-submit has started for the program, or
   * @param parent of the process that has started that JVM: the program itself
   * @return as it was typed; absent where there is none, as at a prompt
   */
  def program(command: Vector[String], parent: Vector[String]): Option[String] = {
    def script(words: Vector[String]): Option[String] = words match {
      case ("-W" | "-X") +: _ +: rest => script(rest)
      case ("-c" | "-m" | "-") +: _ => None
      case option +: rest if option.startsWith("-") => script(rest)
      case words => words.headOption
    }
    val python =
      parent.headOption.exists(word => Path.of(word).getFileName.toString.startsWith("python"))
    submitted(command).headOption
      .filterNot(_ == "pyspark-shell")
      .orElse(if (python) script(parent.drop(1)) else None)
      .map(_.stripPrefix("file:"))
      .filter(_.endsWith(".py"))
  }

  /** What spark-submit was given behind its own options: the application and its arguments. */
  private def submitted(command: Vector[String]): Vector[String] = {
    def application(words: Vector[String]): Vector[String] = words match {
      case option +: rest if Switches(option) || option.matches("--.+=.*") => application(rest)
      case option +: rest if option.startsWith("-") => application(rest.drop(1))
      case _ => words
    }
    application(command.dropWhile(_ != "org.apache.spark.deploy.SparkSubmit").drop(1))
  }
}
