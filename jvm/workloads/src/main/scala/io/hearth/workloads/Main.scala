package io.hearth.workloads

import java.nio.file.Path

/**
 * The one entry point:
 * {{{
 * catalogue                                   the jobs, as JSON (needs no Spark session)
 * check JOB [--PARAMETER VALUE]               whether the values are within their limits
 * run JOB --data NAME=DIR --answer DIR --result FILE [--PARAMETER VALUE]
 * run-all FILE                                runs of a file, in one Spark session
 * }}}
 * Exit code 2 is an error of the user's.
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
        case other =>
          throw new UserError(
            s"'${other.mkString(" ")}' is unknown: use catalogue, check JOB, run JOB or run-all FILE"
          )
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
}
