package io.hearth.workloads

import java.nio.file.{Files, Path}
import java.time.Instant

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.SparkSession

/**
 * The one entry point:
 * {{{
 * catalogue                                   the jobs, as JSON (needs no Spark session)
 * check JOB [--PARAMETER VALUE]               whether the values are within their limits
 * run JOB --data NAME=DIR --answer DIR --result FILE [--PARAMETER VALUE]
 * }}}
 * Exit code 2 is an error of the user's.
 */
object Main {

  def main(words: Array[String]): Unit =
    try
      words.toList match {
        case "catalogue" :: Nil => println(Json.pretty(Catalogue.json))
        case "check" :: name :: rest => settings(Catalogue.job(name), Arguments.parse(rest))
        case "run" :: name :: rest => run(Catalogue.job(name), Arguments.parse(rest))
        case other =>
          throw new UserError(
            s"'${other.mkString(" ")}' is unknown: use catalogue, check JOB or run JOB"
          )
      }
    catch {
      case e: UserError =>
        System.err.println(s"workloads: ${e.getMessage}")
        sys.exit(2)
    }

  private def settings(job: Job, arguments: Arguments): Settings =
    Settings.of(job.name, job.parameters, arguments.without("data", "answer", "result"))

  private def run(job: Job, arguments: Arguments): Unit = {
    val chosen = settings(job, arguments)
    val data = inputs(job, arguments)
    val answer = Path.of(arguments.required("answer"))
    val result = Path.of(arguments.required("result"))
    Files.createDirectories(answer)
    val started = Instant.now()
    val session = SparkSession.builder().appName(job.name).getOrCreate()
    try {
      val run = new JobRun(session, chosen, data, answer)
      val found = job.run(run)
      write(result, Result.json(job, run, started, found))
    } finally session.stop()
  }

  private def inputs(job: Job, arguments: Arguments): Map[String, Path] = {
    val folders = arguments.all("data").map(folder).toMap
    job.inputs.foreach { input =>
      val folder =
        folders.getOrElse(input.name, throw new UserError(s"--data ${input.name}=DIR is missing"))
      if (!Files.isDirectory(folder)) throw new UserError(s"--data: '$folder' is no directory")
    }
    folders
  }

  private def folder(pair: String): (String, Path) = pair.split("=", 2) match {
    case Array(name, folder) => name -> Path.of(folder)
    case _ => throw new UserError(s"--data: '$pair' is not of the form NAME=DIR")
  }

  private def write(file: Path, node: JsonNode): Unit = {
    val part = file.resolveSibling(s".${file.getFileName}.part")
    Files.writeString(part, Json.pretty(node))
    Files.move(part, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE)
    ()
  }
}

/** The document that a finished run leaves (`contract/workload-result.schema.json`). */
private object Result {

  def json(job: Job, run: JobRun, started: Instant, answer: ObjectNode): ObjectNode = {
    val context = run.session.sparkContext
    val node = Json.obj().put("schema", "hearth/workload-result/1")
    node.put("job", job.name).put("started", started.toString)
    node.put("seconds", run.phases.map(_._2).sum)
    val phases = run.phases.map { case (name, seconds) =>
      Json.obj().put("name", name).put("seconds", seconds)
    }
    node.set[JsonNode]("phases", Json.array(phases))
    val settings = node.putObject("parameters")
    run.settings.values.toSeq.sorted.foreach { case (name, value) => settings.put(name, value) }
    node
      .putObject("spark")
      .put("version", context.version)
      .put("master", context.master)
      .put("application_id", context.applicationId)
      .put("default_parallelism", context.defaultParallelism)
      .put("executors", math.max(1, context.statusTracker.getExecutorInfos.length - 1))
    node.set[JsonNode]("answer", answer)
    node
  }
}
