package io.hearth.workloads.ml

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.classification.LinearSVC
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.mllib.classification.SVMWithSGD
import org.apache.spark.mllib.linalg.{Vectors => RddVectors}
import org.apache.spark.mllib.regression.LabeledPoint
import org.apache.spark.sql.DataFrame
import org.apache.spark.storage.StorageLevel

import io.hearth.workloads.{Input, JobRun, Json, Parameter}

/**
 * A linear support vector machine. On DataFrames it minimises `mean(hinge) + regularisation / 2 *
 * |w|^2` with a free intercept; on RDDs it takes a fixed number of gradient-descent steps from
 * zero, without intercept, as Spark did at the time of Baig 2018.
 */
object LinearSvm extends LearningJob {
  val name = "linear-svm"
  val summary = "two classes of dense vectors, separated by a plane with the widest margin"
  val stresses = "memory bandwidth over cached vectors, an aggregation each iteration"
  val published = "47 GB in 376 partitions (Baig 2018); about 6 GB (Awan 2016)"
  val parameters = Seq(
    Parameter.whole("iterations", 100, "most iterations; on RDDs exactly as many"),
    Parameter.positive("regularisation", 0.01, "weight of the square of the coefficients"),
    dimensions(20),
    api,
    partitions.copy(published = "376 (Baig 2018)")
  )
  val inputs = Seq(Input("vectors", "vectors-dense", shared = Seq("dimensions")))

  def run(run: JobRun): ObjectNode = {
    val vectors = run.phase("load")(this.vectors(run, "vectors"))
    if (onRdds(run)) onRdd(run, vectors) else onFrame(run, vectors)
  }

  private def onFrame(run: JobRun, vectors: DataFrame): ObjectNode = {
    val model = run.phase("train") {
      new LinearSVC()
        .setMaxIter(run.settings.int("iterations"))
        .setRegParam(run.settings.real("regularisation"))
        .setStandardization(false)
        .setTol(1e-8)
        .fit(vectors)
    }
    Json.obj(
      "vectors" -> vectors.count(),
      "accuracy" -> accuracy(model.transform(vectors)),
      "iterations" -> model.summary.totalIterations,
      "intercept" -> model.intercept,
      "coefficients" -> model.coefficients.toArray
    )
  }

  private def onRdd(run: JobRun, vectors: DataFrame): ObjectNode = {
    val points = run.phase("convert") {
      vectors
        .select("label", "features")
        .rdd
        .map { row =>
          LabeledPoint(row.getDouble(0), RddVectors.fromML(row.getAs[Vector](1)))
        }
        .persist(StorageLevel.MEMORY_AND_DISK)
    }
    val descent = new SVMWithSGD()
    descent.optimizer
      .setNumIterations(run.settings.int("iterations"))
      .setRegParam(run.settings.real("regularisation"))
      .setConvergenceTol(0)
    val model = run.phase("train")(descent.run(points))
    val right = points.filter(point => model.predict(point.features) == point.label).count()
    Json.obj(
      "vectors" -> vectors.count(),
      "accuracy" -> right.toDouble / points.count(),
      "iterations" -> run.settings.int("iterations"),
      "intercept" -> model.intercept,
      "coefficients" -> model.weights.toArray
    )
  }
}
