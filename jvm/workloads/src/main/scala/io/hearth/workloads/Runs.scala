package io.hearth.workloads

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSession

/** A run as the user asks for it: checked, not yet started. */
final case class PlannedRun(
    job: Job,
    settings: Settings,
    data: Map[String, Path],
    answer: Path,
    result: Path
)

object PlannedRun {

  /** @throws UserError where a parameter, a data set or a directory is not usable */
  def of(job: Job, arguments: Arguments): PlannedRun = {
    val data = arguments.all("data").map(folder).toMap
    of(job, chosen(arguments), data, arguments.required("answer"), arguments.required("result"))
  }

  /** @throws UserError where a parameter is not usable */
  def settings(job: Job, arguments: Arguments): Settings = settings(job, chosen(arguments))

  private def settings(job: Job, chosen: Map[String, String]): Settings = {
    val settings = Settings.of(job.name, job.parameters, chosen)
    job.fit(settings)
    settings
  }

  private def chosen(arguments: Arguments): Map[String, String] =
    arguments.without("data", "answer", "result")

  /**
   * The runs of a file, one JSON object a line:
   * {{{
   * {"job": "sort", "data": {"records": "DIR"}, "answer": "DIR", "result": "FILE",
   *  "parameters": {"partitions": "4"}}
   * }}}
   */
  def all(file: Path): Seq[PlannedRun] = {
    if (!Files.isRegularFile(file)) throw new UserError(s"run-all: '$file' does not exist")
    Files.readAllLines(file).asScala.toSeq.zipWithIndex.collect {
      case (line, index) if line.nonEmpty => ofLine(line, s"$file, line ${index + 1}")
    }
  }

  private def ofLine(line: String, where: String): PlannedRun = {
    val node = Json.parse(line).getOrElse(throw new UserError(s"$where is not a JSON object"))
    def text(name: String) =
      Option(node.get(name))
        .map(_.asText)
        .getOrElse(throw new UserError(s"$where: '$name' is missing"))
    val data = texts(node.path("data")).map { case (name, folder) => name -> Path.of(folder) }
    val job = Catalogue.job(text("job"))
    of(job, texts(node.path("parameters")), data, text("answer"), text("result"))
  }

  private def texts(node: JsonNode): Map[String, String] =
    node.properties.asScala.map(field => field.getKey -> field.getValue.asText).toMap

  private def of(
      job: Job,
      chosen: Map[String, String],
      data: Map[String, Path],
      answer: String,
      result: String
  ): PlannedRun = {
    val values = settings(job, chosen)
    job.inputs.foreach { input =>
      val folder =
        data.getOrElse(input.name, throw new UserError(s"--data ${input.name}=DIR is missing"))
      if (!Files.isDirectory(folder)) throw new UserError(s"--data: '$folder' is not a directory")
    }
    PlannedRun(job, values, data, empty(Path.of(answer)), Path.of(result))
  }

  private def empty(folder: Path): Path = {
    if (Files.exists(folder) && Using.resource(Files.list(folder))(_.findAny.isPresent))
      throw new UserError(s"--answer: '$folder' is not empty: give an empty one")
    folder
  }

  private def folder(pair: String): (String, Path) = pair.split("=", 2) match {
    case Array(name, folder) => name -> Path.of(folder)
    case _ => throw new UserError(s"--data: '$pair' is not of the form NAME=DIR")
  }
}

/** Executes planned runs one after the other in one Spark session. */
object Runs {

  def one(planned: PlannedRun): Unit = within(planned.job.name, Seq(planned))(execute(_, planned))

  /**
   * Continues with the next run after a failed one: its stack trace goes to standard error, and it
   * leaves no result.
   *
   * @return how many failed
   */
  def all(planned: Seq[PlannedRun]): Int =
    within("workloads", planned) { session =>
      planned.count { run =>
        try {
          execute(session, run)
          false
        } catch {
          case NonFatal(error) =>
            System.err.println(s"workloads: ${run.job.name} failed: no ${run.result}")
            error.printStackTrace()
            true
        }
      }
    }

  private def within[A](name: String, planned: Seq[PlannedRun])(body: SparkSession => A): A = {
    val conf =
      planned.map(_.job).distinct.foldLeft(new SparkConf())((conf, job) => job.configure(conf))
    val session = SparkSession.builder().config(conf).appName(name).getOrCreate()
    try body(session)
    finally session.stop()
  }

  private def execute(session: SparkSession, planned: PlannedRun): Unit = {
    Files.createDirectories(planned.answer)
    val started = Instant.now()
    val run = new JobRun(session, planned.settings, planned.data, planned.answer)
    try {
      val answer = planned.job.run(run)
      val result = Json.pretty(Result.json(planned.job, run, started, answer))
      Draft.write(planned.result)(Files.writeString(_, result))
      ()
    } finally forget(session)
  }

  /** The next run starts with an empty cache. */
  private def forget(session: SparkSession): Unit = {
    session.catalog.clearCache()
    session.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
  }
}

/**
 * The document that a finished run leaves: `contract/examples/workload-result.json`, up to what
 * `hearth lab run` adds.
 */
private object Result {

  def json(job: Job, run: JobRun, started: Instant, answer: ObjectNode): ObjectNode = {
    val context = run.session.sparkContext
    val known = Seq(
      "schema" -> "hearth/workload-result/1",
      "job" -> job.name,
      "started" -> started.toString,
      "seconds" -> run.phases.map(_._2).sum,
      "phases" -> run.phases.map { case (name, seconds) =>
        Json.obj("name" -> name, "seconds" -> seconds)
      },
      "parameters" -> Json.obj(run.settings.values.toSeq.sorted: _*),
      "spark" -> Json.obj(
        "version" -> context.version,
        "master" -> context.master,
        "application_id" -> context.applicationId,
        "default_parallelism" -> context.defaultParallelism,
        "executors" -> math.max(1, context.statusTracker.getExecutorInfos.length - 1)
      )
    )
    Json.obj(known ++ run.sections :+ ("answer" -> answer): _*)
  }
}
