package io.hearth.workloads.ml

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.clustering.{
  GaussianMixture => FrameGaussianMixture,
  GaussianMixtureModel
}
import org.apache.spark.sql.DataFrame

import io.hearth.workloads.{Input, JobRun, Json, Parameter}

/** Fits a mixture of normal distributions by expectation maximisation (Awan 2016). */
object GaussianMixture extends LearningJob {
  val name = "gaussian-mixture"
  val summary = "a mixture of normal distributions fitted to points in a fixed number of iterations"
  val stresses = "CPU: dense linear algebra, exponentials; large aggregated matrices"
  val published = "2 clusters, 10 iterations, about 6 GB (Awan 2016)"
  val parameters = Seq(
    Parameter
      .whole("clusters", 2, "distributions to find; the data has as many", "2 (Awan 2016)", 2),
    Parameter.whole("iterations", 10, "steps of expectation maximisation", "10 (Awan 2016)"),
    dimensions(20),
    partitions,
    seed
  )
  val inputs = Seq(Input("points", "clusters", shared = Seq("dimensions", "clusters")))

  def run(run: JobRun): ObjectNode = {
    val points = run.phase("load")(vectors(run, "points"))
    val model = run.phase("train")(fit(run, points, run.settings.int("iterations")))
    Json.obj(
      "points" -> points.count(),
      "iterations" -> model.summary.numIter,
      // Spark's value is for the distributions before the last step.
      "log_likelihood_before_last_step" -> model.summary.logLikelihood,
      "first" -> mixture(fit(run, points, 0)),
      "found" -> mixture(model)
    )
  }

  /** Zero iterations give the starting mixture: the seed is the same. */
  private def fit(run: JobRun, points: DataFrame, iterations: Int): GaussianMixtureModel =
    new FrameGaussianMixture()
      .setK(run.settings.int("clusters"))
      .setMaxIter(iterations)
      .setTol(0)
      .setSeed(run.settings.long("seed"))
      .fit(points)

  private def mixture(model: GaussianMixtureModel): ObjectNode = Json.obj(
    "weights" -> model.weights,
    "means" -> model.gaussians.map(_.mean.toArray),
    "covariances" -> model.gaussians.map(_.cov.rowIter.map(_.toArray))
  )
}
