package io.hearth.workloads.sql

import java.math.{BigDecimal, MathContext, RoundingMode}
import java.net.URI
import java.nio.file.{Files, Path}

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.DataFrame

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter, UserError}

/**
 * The 22 queries of TPC-H (specification 3), with the substitution parameters of its validation
 * run. Each query is a phase; its time ends when all its rows are in the driver.
 */
object Tpch extends Job {
  val name = "tpch"
  val family = "sql"
  val summary = "the queries of the decision-support benchmark TPC-H"
  val stresses = "scans, joins, aggregations and sorts in 22 combinations"
  val published = "scale factor 1 and more (TPC-H 3.0.1); its rules for a score are not followed"
  val parameters = Seq(
    Parameter(
      "queries",
      s"1-${QueryNumbers.Last}",
      "which queries run, in ascending order: numbers and ranges such as 1,3-5",
      "all",
      QueryNumbers.limit
    ),
    Parameter.real(
      "scale",
      0,
      "scale factor of the data; 0: as the data's manifest says. Sizes are of the raw text: " +
        "--size 2g is scale factor 2",
      "1"
    )
  )
  val inputs = Seq(Input("tpch", "tpch"))

  private val tables =
    Seq("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

  def run(run: JobRun): ObjectNode = {
    val scale = TpchScale.of(run)
    tables.foreach { table =>
      run.session.read.parquet(s"${run.input("tpch")}/$table").createOrReplaceTempView(table)
    }
    val rows = QueryNumbers.parse(run.settings.text("queries")).map { number =>
      val query = f"q$number%02d"
      query -> answerTo(run, query, text(query, scale))
    }
    Json.obj("scale" -> scale.toString, "rows" -> Json.obj(rows: _*))
  }

  /** Runs a query and keeps its rows in order and with their types; returns their number. */
  private def answerTo(run: JobRun, query: String, text: String): Int = {
    val (frame, rows) = run.phase(query) {
      val frame: DataFrame = run.session.sql(text)
      (frame, frame.collect())
    }
    run.session
      .createDataFrame(rows.toSeq.asJava, frame.schema)
      .coalesce(1)
      .write
      .parquet(run.output(query))
    rows.length
  }

  private def text(query: String, scale: BigDecimal): String =
    Using.resource(Source.fromResource(s"tpch/$query.sql", getClass.getClassLoader))(
      _.mkString.replace("${fraction}", TpchScale.fraction(scale).toPlainString)
    )
}

private[sql] object QueryNumbers {
  val Last = 22
  private val Part = """(\d{1,4})(?:-(\d{1,4}))?""".r

  /** The limit that a list violates, as the parameter's error names it. */
  def limit(list: String): Option[String] = {
    val form = s"a list of TPC-H's queries 1 to $Last, such as 1,3-5"
    numbers(list) match {
      case None => Some(form)
      case Some(found) =>
        found.find(n => n < 1 || n > Last).map(n => s"$form: there is no query $n")
    }
  }

  def parse(list: String): Seq[Int] = numbers(list).toSeq.flatten.distinct.sorted

  private def numbers(list: String): Option[Seq[Int]] = {
    val parts = list.split(",", -1).toSeq.map {
      case Part(first, null) => Seq(first.toInt)
      case Part(first, last) => first.toInt to last.toInt
      case _ => Nil
    }
    if (parts.exists(_.isEmpty)) None else Some(parts.flatten)
  }
}

private[sql] object TpchScale {
  private val BaseFraction = new BigDecimal("0.0001")
  private val FractionDigits = 10

  /** The scale factor that the user gave, or that of the data's manifest: they must agree. */
  def of(run: JobRun): BigDecimal = {
    val asked = new BigDecimal(run.settings.text("scale")).stripTrailingZeros
    val written = manifest(Path.of(URI.create(run.input("tpch"))))
    written match {
      case Some(scale) if asked.signum != 0 && asked.compareTo(scale) != 0 =>
        throw new UserError(s"--scale: ${asked.toPlainString}, but the data has scale $scale")
      case Some(scale) => scale
      case None if asked.signum > 0 => asked
      case None => throw new UserError("--scale is missing: the data has no manifest that says it")
    }
  }

  /** FRACTION of Q11: 0.0001 divided by the scale factor, to ten places. */
  def fraction(scale: BigDecimal): BigDecimal = BaseFraction
    .divide(scale, MathContext.DECIMAL128)
    .setScale(FractionDigits, RoundingMode.HALF_EVEN)
    .stripTrailingZeros

  private def manifest(folder: Path): Option[BigDecimal] = {
    val file = folder.resolve("_manifest.json")
    Option.when(Files.isRegularFile(file)) {
      val scale = new ObjectMapper().readTree(file.toFile).path("parameters").path("scale").asText
      scala.util
        .Try(new BigDecimal(scale))
        .getOrElse(throw new UserError(s"'$file' has no scale: it is not TPC-H's"))
    }
  }
}
