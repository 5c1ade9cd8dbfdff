package io.hearth.workloads.ml

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.classification.{LogisticRegression => FrameLogisticRegression}

import io.hearth.workloads.{Input, JobRun, Json, Parameter}

/**
 * Logistic regression of two classes: minimises `mean(log loss) + regularisation / 2 * |w|^2` with
 * a free intercept (Awan 2016).
 */
object LogisticRegression extends LearningJob {
  val name = "logistic-regression"
  val summary = "the probability of two classes of dense vectors"
  val stresses = "memory bandwidth over cached vectors, exponentials, an aggregation each iteration"
  val published = "about 6 GB (Awan 2016)"
  val parameters = Seq(
    Parameter.whole("iterations", 100, "most iterations"),
    Parameter.positive("regularisation", 0.01, "weight of the square of the coefficients"),
    dimensions(20),
    partitions
  )
  val inputs = Seq(Input("vectors", "vectors-dense", shared = Seq("dimensions")))

  def run(run: JobRun): ObjectNode = {
    val vectors = run.phase("load")(this.vectors(run, "vectors"))
    val model = run.phase("train") {
      new FrameLogisticRegression()
        .setMaxIter(run.settings.int("iterations"))
        .setRegParam(run.settings.real("regularisation"))
        .setStandardization(false)
        .setFamily("binomial")
        .setTol(1e-9)
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
}
