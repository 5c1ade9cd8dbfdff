package io.hearth.workloads

import java.nio.file.Path

import org.apache.spark.sql.SparkSession

import io.hearth.workloads.data.Generation
import io.hearth.workloads.streaming.server.ServeVerb

/**
 * The one entry point:
 * {{{
 * catalogue                                   jobs and generators, as JSON (needs no Spark session)
 * check JOB [--PARAMETER VALUE]               whether the values are within their limits
 * run JOB --data NAME=DIR --answer DIR --result FILE [--PARAMETER VALUE]
 * run-all FILE                                runs of a file, in one Spark session
 * generate GENERATOR --to DIR --size SIZE --seed N [--PARAMETER VALUE] [+ GENERATOR ...]
 * serve STREAM [--rate N] [--events N] [--port P] ...   the data server of the streaming jobs
 * }}}
 * Exit code 2: a user error.
 */
object Main {

  def main(words: Array[String]): Unit =
    try
      words.toList match {
        case "catalogue" :: Nil => println(Json.pretty(Catalogue.json))
        case "check" :: name :: rest =>
          PlannedRun.settings(Catalogue.job(name), Arguments.parse(rest))
        case "run" :: name :: rest =>
          Runs.one(PlannedRun.of(Catalogue.job(name), Arguments.parse(rest)))
        case "run-all" :: file :: Nil => runAll(Path.of(file))
        case "generate" :: rest => generate(rest)
        case "serve" :: stream :: rest => ServeVerb.run(stream, Arguments.parse(rest))
        case other =>
          val verbs =
            "catalogue, check JOB, run JOB, run-all FILE, generate GENERATOR or serve STREAM"
          throw new UserError(s"'${other.mkString(" ")}' is unknown: use $verbs")
      }
    catch {
      case e: UserError =>
        System.err.println(s"workloads: ${e.getMessage}")
        sys.exit(2)
    }

  private def runAll(file: Path): Unit = {
    val planned = PlannedRun.all(file)
    val failed = Runs.all(planned)
    if (failed > 0) {
      System.err.println(s"workloads: $failed of ${planned.length} runs failed")
      sys.exit(1)
    }
  }

  /** All arguments are checked before anything is generated. */
  private def generate(words: List[String]): Unit = {
    val generations = split(words).map {
      case name :: rest => Generation.of(name, Arguments.parse(rest))
      case Nil => throw new UserError("generate: a generator is missing: give GENERATOR --to DIR")
    }
    lazy val session = SparkSession.builder().appName("generate").getOrCreate()
    try generations.foreach(generation => println(generation.run(() => session)))
    finally SparkSession.getActiveSession.foreach(_.stop())
  }

  private def split(words: List[String]): List[List[String]] = words.span(_ != "+") match {
    case (group, _ :: rest) => group :: split(rest)
    case (group, Nil) => List(group)
  }
}
