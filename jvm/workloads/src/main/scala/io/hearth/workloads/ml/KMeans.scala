package io.hearth.workloads.ml

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.clustering.{KMeans => FrameKMeans}
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.mllib.clustering.{KMeans => RddKMeans, KMeansModel}
import org.apache.spark.mllib.linalg.{Vector => RddVector, Vectors => RddVectors}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame

import io.hearth.workloads.{Input, JobRun, Json, Parameter}

/** Clusters points around centres (Chiba 2015, Awan 2016, Kyong 2017). */
object KMeans extends LearningJob {
  val name = "k-means"
  val summary = "points grouped around cluster centres in a fixed number of iterations"
  val stresses =
    "CPU (distances) and memory bandwidth over cached points; garbage from each iteration"
  val published =
    "8 clusters, 4 iterations, about 6 GB (Awan 2016); 68 million points, 10 iterations (Chiba 2015)"
  val parameters = Seq(
    Parameter
      .whole("clusters", 8, "centres to find; the data has as many", "8 (Awan 2016)", min = 2),
    Parameter
      .whole("iterations", 4, "number of iterations", "4 (Awan 2016), 10 (Chiba 2015)"),
    dimensions(20),
    Parameter.choice("initial", Seq("k-means||", "random"), "how the first centres are chosen"),
    api,
    partitions,
    seed
  )
  val inputs = Seq(Input("points", "clusters", shared = Seq("dimensions", "clusters")))

  def run(run: JobRun): ObjectNode = {
    val points = run.phase("load")(vectors(run, "points"))
    val iterations = run.settings.int("iterations")
    val (first, centres) =
      if (onRdds(run)) {
        val older = run.phase("convert")(rdd(points).cache())
        val centres = run.phase("train")(onRdd(run, older, iterations))
        (onRdd(run, older, 0), centres)
      } else {
        val centres = run.phase("train")(onFrame(run, points, iterations))
        (onFrame(run, points, 0), centres)
      }
    val cost = new KMeansModel(centres.map(RddVectors.dense)).computeCost(rdd(points))
    Json.obj(
      "points" -> points.count(),
      "cost" -> cost,
      "first_centres" -> first,
      "centres" -> centres
    )
  }

  /** Zero iterations give the starting centres: the seed is the same. */
  private def onFrame(run: JobRun, points: DataFrame, iterations: Int): Array[Array[Double]] =
    new FrameKMeans()
      .setK(run.settings.int("clusters"))
      .setMaxIter(iterations)
      .setTol(0)
      .setInitMode(run.settings.text("initial"))
      .setSeed(run.settings.long("seed"))
      .fit(points)
      .clusterCenters
      .map(_.toArray)

  private def onRdd(run: JobRun, points: RDD[RddVector], iterations: Int): Array[Array[Double]] =
    new RddKMeans()
      .setK(run.settings.int("clusters"))
      .setMaxIterations(iterations)
      .setEpsilon(0)
      .setInitializationMode(run.settings.text("initial"))
      .setSeed(run.settings.long("seed"))
      .run(points)
      .clusterCenters
      .map(_.toArray)

  private def rdd(points: DataFrame): RDD[RddVector] =
    points.select("features").rdd.map(row => RddVectors.fromML(row.getAs[Vector](0)))
}
