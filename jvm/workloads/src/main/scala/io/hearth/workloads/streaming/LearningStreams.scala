package io.hearth.workloads.streaming

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.mllib.classification.StreamingLogisticRegressionWithSGD
import org.apache.spark.mllib.clustering.StreamingKMeans
import org.apache.spark.mllib.linalg.{Vector, Vectors}
import org.apache.spark.mllib.regression.{LabeledPoint, StreamingLinearRegressionWithSGD}
import org.apache.spark.streaming.dstream.DStream

import io.hearth.workloads.streaming.server.{Labelled, Points}
import io.hearth.workloads.{Json, Parameter}

/** The numbers of a line, separated by blanks. */
private object Numbers {
  def of(line: String): Array[Double] = line.split(' ').map(_.toDouble)
}

/**
 * MLlib's streaming k-means, which exists for DStreams only.
 *
 * Answer, per batch: `centres` and `weights` after it. Of the job: `initial_centres`, each with
 * weight 1. A batch moves centre c, of weight w discounted by the decay d, by its m points of mean
 * x to (c w d + x m) / (w d + m), and its weight to w d + m (Spark's documentation of
 * StreamingKMeans). A batch without events changes nothing but discounts the weights.
 */
object StreamingClusters extends StreamJob("streaming-kmeans", "points") {
  val summary = "k-means whose centres move with each batch"
  val stresses = "floating-point arithmetic at high rates; task scheduling at low ones"
  override val own: Seq[Parameter] = Seq(
    Parameter.whole("clusters", 8, "centres"),
    Parameter.real("decay", 1.0, "weight of former batches relative to the next; 1: equal"),
    Parameter.whole("seed", 1, "seed of the initial centres", min = 0, max = Long.MaxValue)
  )

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val first = initial(settings)
    val model = new StreamingKMeans()
      .setK(first.length)
      .setDecayFactor(settings.values.real("decay"))
      .setInitialCenters(first, first.map(_ => 1.0))
    model.trainOn(lines.map(line => Vectors.dense(Numbers.of(line))))
    // Output operations of a batch run in the order in which they were declared.
    answers.keep(lines) { _ =>
      val latest = model.latestModel()
      Json.obj("centres" -> matrix(latest.clusterCenters), "weights" -> latest.clusterWeights)
    }
  }

  override val answer: Option[StreamSettings => ObjectNode] =
    Some(settings => Json.obj("initial_centres" -> matrix(initial(settings))))

  private def initial(settings: StreamSettings): Array[Vector] = {
    val random = new java.util.SplittableRandom(settings.values.long("seed"))
    Array.fill(settings.values.int("clusters"))(
      Vectors.dense(Array.fill(Points.Dimensions)(random.nextDouble(-10, 10)))
    )
  }

  private def matrix(rows: Array[Vector]): Array[Array[Double]] = rows.map(_.toArray)
}

/** What the two regressions share: gradient descent on each batch, from the weights before it. */
private object Descent {

  def parameters(stepSize: Double): Seq[Parameter] = Seq(
    Parameter
      .real("step-size", stepSize, "step size of the first iteration; the i-th has s / sqrt(i)"),
    Parameter.whole("iterations", 50, "most iterations in each batch", "50 (Spark's default)")
  )

  /** Created on demand: listing the jobs does not load MLlib. */
  def start: Vector = Vectors.zeros(Labelled.Dimensions)

  /** @param label its position in a line: the class is first, the target second */
  def points(lines: DStream[String], label: Int): DStream[LabeledPoint] = lines.map { line =>
    val numbers = Numbers.of(line)
    LabeledPoint(numbers(label), Vectors.dense(numbers.drop(2)))
  }

  def keep(lines: DStream[String], answers: Answers, weights: () => Vector): Unit =
    answers.keep(lines)(_ => Json.obj("weights" -> weights().toArray))
}

/**
 * MLlib's streaming linear regression, which exists for DStreams only: least squares without
 * intercept, by full gradients over the batch. An iteration that changes the weights by less than
 * 0.001 of their length (or of 1) is the last (Spark's default).
 *
 * Answer, per batch: `weights` after it; all are zero before the first.
 */
object StreamingLinear extends StreamJob("streaming-linear-regression", "labelled") {
  val summary = "a linear regression that learns from each batch"
  val stresses = "many small jobs for each batch: one for each iteration"
  override val own: Seq[Parameter] = Descent.parameters(stepSize = 0.1)

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val model = new StreamingLinearRegressionWithSGD()
      .setStepSize(settings.values.real("step-size"))
      .setNumIterations(settings.values.int("iterations"))
      .setInitialWeights(Descent.start)
    model.trainOn(Descent.points(lines, label = 1))
    Descent.keep(lines, answers, () => model.latestModel().weights)
  }
}

/** As the linear regression, with the logistic loss and no regularisation. */
object StreamingLogistic extends StreamJob("streaming-logistic-regression", "labelled") {
  val summary = "a logistic regression that learns from each batch"
  val stresses = "many small jobs for each batch: one for each iteration"
  override val own: Seq[Parameter] = Descent.parameters(stepSize = 1.0)

  def dstream(lines: DStream[String], settings: StreamSettings, answers: Answers): Unit = {
    val model = new StreamingLogisticRegressionWithSGD()
      .setStepSize(settings.values.real("step-size"))
      .setNumIterations(settings.values.int("iterations"))
      .setInitialWeights(Descent.start)
    model.trainOn(Descent.points(lines, label = 0))
    Descent.keep(lines, answers, () => model.latestModel().weights)
  }
}
