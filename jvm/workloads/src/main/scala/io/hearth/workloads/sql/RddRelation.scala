package io.hearth.workloads.sql

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.storage.StorageLevel

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

final case class Pair(key: Long, value: String)

/** From an RDD to SQL, to Parquet, and back to SQL (`RDDRelation` of spark-bench; Baig 2018). */
object RddRelation extends Job {
  val name = "rdd-relation"
  val family = "sql"
  val summary = "an RDD of records queried by SQL, written as Parquet and queried again"
  val stresses = "conversion of objects to rows, cached columns, Parquet writing and reading"
  val published = "24 GB in 192 partitions (Baig 2018)"
  val parameters = Seq(
    Parameter.whole(
      "partitions",
      0,
      "partitions of the RDD; 0: as the files are split; more: by a shuffle",
      "192 (24 GB in splits of 128 MB)",
      min = 0
    ),
    Parameter.whole("below", 10, "the filter keeps keys below this value", "10", 0, Long.MaxValue),
    Parameter.choice(
      "storage",
      Seq("MEMORY_AND_DISK", "MEMORY_ONLY", "DISK_ONLY", "NONE"),
      "where the records are cached between the queries",
      "MEMORY_AND_DISK"
    )
  )
  val inputs = Seq(Input("pairs", "pairs"))

  def run(run: JobRun): ObjectNode = {
    val session = run.session
    val records = session.createDataFrame(pairs(session, run))
    records.persist(StorageLevel.fromString(run.settings.text("storage")))
    records.createOrReplaceTempView("records")
    val count = run.phase("count")(countOf(session, "records"))
    run.phase("aggregate")(grouped(session).write.parquet(run.output("groups")))
    run.phase("filter-and-order")(smallest(run, "records").write.parquet(run.output("smallest")))
    run.phase("write")(records.write.parquet(run.output("records")))
    session.read.parquet(run.output("records")).createOrReplaceTempView("stored")
    val stored = run.phase("read-back") {
      smallest(run, "stored").write.parquet(run.output("smallest-stored"))
      countOf(session, "stored")
    }
    Json.obj("records" -> count, "stored" -> stored)
  }

  private def pairs(session: SparkSession, run: JobRun): RDD[Pair] = {
    import session.implicits._
    val rdd = session.read.parquet(run.input("pairs")).as[Pair].rdd
    val wanted = run.settings.int("partitions")
    if (wanted > 0) rdd.repartition(wanted) else rdd
  }

  private def countOf(session: SparkSession, view: String): Long =
    session.sql(s"SELECT count(*) FROM $view").head().getLong(0)

  private def grouped(session: SparkSession): DataFrame = session.sql(
    "SELECT key, count(*) AS records, min(value) AS least, max(value) AS greatest " +
      "FROM records GROUP BY key"
  )

  private def smallest(run: JobRun, view: String): DataFrame = run.session.sql(
    s"SELECT key, value FROM $view WHERE key < :below ORDER BY key, value",
    Map("below" -> run.settings.long("below"))
  )
}
