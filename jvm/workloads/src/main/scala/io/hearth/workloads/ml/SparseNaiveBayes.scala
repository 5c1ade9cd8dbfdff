package io.hearth.workloads.ml

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.classification.{NaiveBayes => FrameNaiveBayes}
import org.apache.spark.mllib.classification.{NaiveBayes => RddNaiveBayes}
import org.apache.spark.mllib.util.MLUtils
import org.apache.spark.storage.StorageLevel

import io.hearth.workloads.{Input, JobRun, Json, Parameter}

/** Learns classes of sparse vectors by multinomial naive Bayes (Awan 2016). */
object SparseNaiveBayes extends LearningJob {
  val name = "sparse-naive-bayes"
  val summary = "classes of sparse vectors, by multinomial naive Bayes on LibSVM files"
  val stresses = "parsing numbers, one aggregation over sparse vectors"
  val published = "about 6 GB (Awan 2016)"
  val parameters = Seq(
    dimensions(1000),
    Parameter.whole("nonzeros", 20, "numbers other than zero in each vector"),
    Parameter.whole("classes", 2, "labels in the data", min = 2),
    Parameter.positive("smoothing", 1.0, "added to the sum of each dimension in each class"),
    api,
    partitions
  )
  val inputs =
    Seq(Input("vectors", "vectors-sparse", shared = Seq("dimensions", "nonzeros", "classes")))

  /**
   * The conditional probabilities are written to files: `class TAB index (from 0) TAB logarithm`.
   * `log_priors` are smoothed too, as in Spark: log((n_c + s) / (n + s * classes)).
   */
  def run(run: JobRun): ObjectNode = {
    val model = if (onRdds(run)) onRdd(run) else onFrame(run)
    val rows = for {
      (label, row) <- model.labels.zip(model.logProbabilities)
      (value, index) <- row.zipWithIndex
    } yield s"$label\t$index\t$value"
    run.session.sparkContext.parallelize(rows.toSeq).saveAsTextFile(run.output("model"))
    Json.obj(
      "vectors" -> model.vectors,
      "accuracy" -> model.accuracy,
      "labels" -> model.labels,
      "log_priors" -> model.logPriors
    )
  }

  private def onFrame(run: JobRun): BayesModel = {
    val read =
      run.session.read.format("libsvm").option("numFeatures", run.settings.text("dimensions"))
    val vectors = run.phase("load")(cached(run, read.load(run.input("vectors"))))
    val model = run.phase("train") {
      new FrameNaiveBayes().setSmoothing(run.settings.real("smoothing")).fit(vectors)
    }
    BayesModel(
      vectors.count(),
      accuracy(model.transform(vectors)),
      Array.range(0, model.numClasses).map(_.toDouble),
      model.pi.toArray,
      model.theta.rowIter.map(_.toArray).toArray
    )
  }

  private def onRdd(run: JobRun): BayesModel = {
    val context = run.session.sparkContext
    val dimensions = run.settings.int("dimensions")
    val minPartitions = math.max(run.settings.int("partitions"), context.defaultMinPartitions)
    val vectors = run.phase("load") {
      val read = MLUtils.loadLibSVMFile(context, run.input("vectors"), dimensions, minPartitions)
      read.persist(StorageLevel.MEMORY_AND_DISK)
      read.count()
      read
    }
    val model = run.phase("train")(RddNaiveBayes.train(vectors, run.settings.real("smoothing")))
    val right = vectors.filter(point => model.predict(point.features) == point.label).count()
    val count = vectors.count()
    BayesModel(count, right.toDouble / count, model.labels, model.pi, model.theta)
  }
}

/** Logarithms of probabilities: one for each label, one for each dimension in each label. */
final private case class BayesModel(
    vectors: Long,
    accuracy: Double,
    labels: Array[Double],
    logPriors: Array[Double],
    logProbabilities: Array[Array[Double]]
)
