package io.hearth.workloads.ml

import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.apache.spark.storage.StorageLevel

import io.hearth.workloads.{Job, JobRun, Parameter}

/** What the MLlib jobs share: reading inputs, and common settings. */
private[ml] trait LearningJob extends Job {
  val family = "ml"

  protected val api: Parameter = Parameter.choice(
    "api",
    Seq("dataframe", "rdd"),
    "Spark's newer library on DataFrames, or the older one on RDDs"
  )

  protected val partitions: Parameter =
    Parameter.whole("partitions", 0, "partitions of the input; 0: as Spark reads it", min = 0)

  protected def dimensions(default: Long): Parameter =
    Parameter.whole("dimensions", default, "numbers in each vector")

  protected val seed: Parameter =
    Parameter.whole("seed", 1, "seed of the initial guess", min = 0, max = Long.MaxValue)

  protected def onRdds(run: JobRun): Boolean = run.settings.text("api") == "rdd"

  /** Parquet files of dense vectors, with column `features`; cached: memory first, then disk. */
  protected def vectors(run: JobRun, input: String): DataFrame =
    cached(
      run,
      run.session.read
        .parquet(run.input(input))
        .withColumn("features", array_to_vector(col("features")))
    )

  /** Repartitions if the user asks for it, and fills the cache. */
  protected def cached(run: JobRun, frame: DataFrame): DataFrame = {
    val parted = run.settings.chosen("partitions").fold(frame)(frame.repartition(_))
    parted.persist(StorageLevel.MEMORY_AND_DISK)
    parted.count()
    parted
  }

  /** Of the rows with columns `label` and `prediction`, the share in which both are equal. */
  protected def accuracy(predicted: DataFrame): Double =
    predicted.filter(col("label") === col("prediction")).count().toDouble / predicted.count()
}
