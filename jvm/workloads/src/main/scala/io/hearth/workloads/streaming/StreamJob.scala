package io.hearth.workloads.streaming

import java.io.Serializable
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardOpenOption}

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.streaming.dstream.DStream

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter, Settings, UserError}

/**
 * A job over a stream of lines, each line an event. It runs until all events of the source are sent
 * and processed.
 *
 * Its answer is the file `batches.jsonl`: a line for each micro-batch (or window) that gave a
 * result, with the batch's `id` and fields that each job defines.
 */
abstract private[streaming] class StreamJob(val name: String, source: String) extends Job {
  val family = "streaming"
  val inputs: Seq[Input] = Nil
  override val stream: Option[String] = Some(source)

  def published: String = Published.protocol

  /** Settings specific to this job. */
  def own: Seq[Parameter] = Nil

  /** Whether its state lives on across batches in checkpoints. */
  def stateful: Boolean = false

  /** Whether it works on windows; their length and slide are then among its settings. */
  def windowed: Boolean = false

  /** Names of further window-length settings besides `window-s`, in whole batches. */
  def otherWindows: Seq[String] = Nil

  final override def fit(settings: Settings): Unit =
    if (windowed) StreamSettings.fit(settings, otherWindows)

  final def parameters: Seq[Parameter] =
    StreamSettings.parameters("dstream" +: structured.toSeq.map(_ => "structured")) ++ own

  /** Computes with DStreams, and appends to the answers. */
  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit

  /** The same meaning as a Structured Streaming query, where there is one. */
  def structured: Option[StreamSettings => StructuredQuery] = None

  /** What the check needs besides the batches. */
  def answer: Option[StreamSettings => ObjectNode] = None

  final def run(run: JobRun): ObjectNode = {
    val settings = StreamSettings.of(run.settings)
    StreamRun(this, settings, run)
    answer.fold(Json.obj())(_(settings))
  }
}

/**
 * A streaming query.
 *
 * @param rows from the lines: columns `value` (the line) and `timestamp` (of its arrival)
 * @param answer of one micro-batch
 */
final private[streaming] case class StructuredQuery(
    rows: DataFrame => DataFrame,
    mode: String,
    answer: DataFrame => ObjectNode
)

private[streaming] object StructuredQuery {

  /** Without state: each batch alone. */
  def ofBatches(rows: DataFrame => DataFrame)(answer: DataFrame => ObjectNode): StructuredQuery =
    StructuredQuery(rows, "append", answer)
}

/** The settings that all streaming jobs share, in their units. */
final private[streaming] case class StreamSettings(
    values: Settings,
    source: Address,
    control: Address
) {
  def api: String = values.text("api")
  def batchMs: Long = values.long("batch-ms")
  def rampUpMs: Long = values.long("ramp-up-s") * 1000
  def patienceMs: Long = values.long("patience-s") * 1000
  def windowMs: Long = values.long("window-s") * 1000
  def slideMs: Long = values.long("slide-s") * 1000
}

private[streaming] object StreamSettings {

  def parameters(apis: Seq[String]): Seq[Parameter] = Seq(
    Parameter
      .choice("api", apis, "Spark's DStreams or Structured Streaming", "dstream (Awan 2016)"),
    Parameter.whole("rate", 100, "events per second from the source", "10 to 10000 (Awan 2016)"),
    Parameter.whole("duration-s", 8, "seconds measured", "180 (Awan 2016)"),
    Parameter
      .whole("ramp-up-s", 2, "seconds before that, not measured", "10 (Awan 2016)", min = 0),
    Parameter.whole("batch-ms", 1000, "batch interval", "2000 (Awan 2016)", min = 100),
    Parameter.whole("patience-s", 60, "seconds without progress after which the job ends"),
    address("source", "address of the source of events; hearth starts one if none is given"),
    address("control", "address of the source's status; as --source")
  )

  def window(windowS: Long, slideS: Long, published: String): Seq[Parameter] = Seq(
    Parameter.whole("window-s", windowS, "length of a window", published),
    Parameter.whole("slide-s", slideS, "from one window to the next", published)
  )

  /** @throws UserError where no source is given */
  def of(values: Settings): StreamSettings =
    StreamSettings(values, stated(values, "source"), stated(values, "control"))

  /** @throws UserError where windows and batches do not fit together */
  def fit(values: Settings, otherWindows: Seq[String]): Unit = {
    val dstream = values.text("api") == "dstream"
    val batchMs = if (dstream) values.long("batch-ms") else 1L
    multiple(values, "slide-s", "the batch interval", batchMs)
    if (dstream) multiple(values, "window-s", "the batch interval", batchMs)
    else multiple(values, "window-s", "--slide-s", values.long("slide-s") * 1000)
    otherWindows.foreach(multiple(values, _, "the batch interval", batchMs))
  }

  private def address(name: String, help: String): Parameter =
    Parameter(
      name,
      "",
      s"HOST:PORT $help",
      check = value => Option.when(Address.parse(value).isEmpty)("of the form HOST:PORT")
    )

  private def stated(values: Settings, name: String): Address =
    Address
      .parse(values.text(name))
      .getOrElse(
        throw new UserError(
          s"--$name is missing: start a data server by 'serve STREAM' and give --$name HOST:PORT"
        )
      )

  private def multiple(values: Settings, name: String, of: String, unitMs: Long): Unit =
    if (values.long(name) * 1000 % unitMs != 0)
      throw new UserError(
        s"--$name: ${values.long(name)} is not a multiple of $of (${unitMs / 1000.0} s): choose one"
      )
}

/** The lines of the answer. The driver appends each as a whole. */
final private[streaming] class Answers(file: String) extends Serializable {

  /** Appends the answer of each batch. */
  def keep[A](stream: DStream[A])(answer: RDD[A] => ObjectNode): Unit =
    stream.foreachRDD((rdd, time) => append(time.milliseconds, answer(rdd)))

  /** Appends the counts of each batch: `{name: {key: count, ...}}`. */
  def keepCounts(name: String, stream: DStream[(String, Long)]): Unit =
    keep(stream)(rdd => Answers.counts(name, rdd.collect()))

  def append(id: Long, fields: ObjectNode): Unit = {
    fields.put("id", id)
    Files.write(
      Path.of(file),
      (Json.line(fields) + "\n").getBytes(UTF_8),
      StandardOpenOption.CREATE,
      StandardOpenOption.APPEND
    )
    ()
  }
}

private[streaming] object Answers {

  def counts(name: String, counts: Array[(String, Long)]): ObjectNode =
    Json.obj(name -> Json.obj(counts.toSeq: _*))

  /** Of rows of a key and its count. */
  def counts(name: String, rows: DataFrame): ObjectNode =
    counts(name, rows.collect().map(row => row.getString(0) -> row.getLong(1)))
}
