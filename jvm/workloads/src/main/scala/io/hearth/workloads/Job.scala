package io.hearth.workloads

import java.nio.file.Path

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSession

/**
 * A data set that a job reads.
 *
 * @param name under which the job asks for it: `--data NAME=DIR`
 * @param generator which makes it
 * @param shared names of job parameters that are passed on to the generator's parameters of the
 * same name
 */
final case class Input(name: String, generator: String, shared: Seq[String] = Nil)

/**
 * One workload. Its own texts say what it measures and where it was published; the help and the
 * documentation are made from them.
 */
trait Job {

  /** In kebab case: `word-count`. */
  def name: String

  /** The suite that it belongs to: core, ml, graph, sql or streaming. */
  def family: String
  def summary: String

  /** Which part of the machine it loads. */
  def stresses: String

  /** Size, settings and source of the published runs. */
  def published: String

  def parameters: Seq[Parameter]

  /**
   * Checks that values, each within its limits, fit together.
   *
   * @throws UserError where they do not
   */
  def fit(settings: Settings): Unit = ()

  def inputs: Seq[Input]

  /** The Spark settings that the job needs; a key that the user has set stays as it is. */
  def configure(conf: SparkConf): SparkConf = conf

  /** The stream that a data server (`serve STREAM`) must send; a batch job has none. */
  def stream: Option[String] = None

  /**
   * Runs the job and returns its answer: small values that a check can compare with another
   * implementation; large ones go to files in `run.answer`.
   */
  def run(run: JobRun): ObjectNode
}

/**
 * What a job runs with.
 *
 * @param data the directory of each input by its name
 * @param answer an empty directory for the files of the answer
 */
final class JobRun(
    val session: SparkSession,
    val settings: Settings,
    data: Map[String, Path],
    val answer: Path
) {
  private val timed = ArrayBuffer.empty[(String, Double)]
  private val contents = ArrayBuffer.empty[(String, ObjectNode)]

  def input(name: String): String = data(name).toUri.toString

  def output(name: String): String = answer.resolve(name).toUri.toString

  /**
   * Runs a part of the job and keeps how long it took. Everything that counts as the job's time is
   * in a phase; work that only prepares the answer for its check is not.
   */
  def phase[A](name: String)(body: => A): A = {
    val start = System.nanoTime()
    try body
    finally timed += name -> (System.nanoTime() - start) / 1e9
  }

  /** Seconds of each phase, in order. */
  def phases: Seq[(String, Double)] = timed.toSeq

  /** Adds a named section to the result, next to times and answer. */
  def section(name: String, content: ObjectNode): Unit = contents += name -> content

  def sections: Seq[(String, ObjectNode)] = contents.toSeq
}
