package io.hearth.workloads.core

import java.nio.charset.StandardCharsets
import java.util.Locale
import java.util.zip.CRC32

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.rdd.RDD

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/**
 * Learns from labelled reviews which words indicate which label, then labels the reviews that it
 * has not seen: multinomial naive Bayes with Laplace smoothing, written on RDDs (Awan 2016, Kyong
 * 2017).
 */
object NaiveBayes extends Job {
  val name = "naive-bayes"
  val family = "core"
  val summary = "movie reviews labelled positive or negative by their words, on RDDs"
  val stresses = "CPU (splitting, hashing strings), a shuffle of words, a broadcast model"
  val published = "about 6 GB of movie reviews (Awan 2016); on up to 120 cores (Kyong 2017)"
  val parameters = Seq(
    Parameter.whole(
      "train-percent",
      80,
      "percent of the reviews to learn from; the rest are labelled",
      max = 99
    ),
    Parameter.positive("smoothing", 1.0, "added to the count of each word in each label")
  )
  val inputs = Seq(Input("reviews", "reviews"))

  private val Labels = Seq("negative", "positive")

  /**
   * The model is written to files: `word TAB log P(word | negative) TAB log P(word | positive)`.
   */
  def run(run: JobRun): ObjectNode = {
    val percent = run.settings.int("train-percent")
    val reviews = run.session.sparkContext.textFile(run.input("reviews"))
    val (training, unseen) =
      (reviews.filter(learns(_, percent)), reviews.filter(!learns(_, percent)))
    val model = run.phase("train")(learn(training.map(review), run.settings.real("smoothing")))
    val confusion = run.phase("test") {
      val shared = run.session.sparkContext.broadcast(model)
      unseen
        .map(review)
        .map { case (label, words) => label -> shared.value.label(words) }
        .countByValue()
    }
    write(run, model)
    answer(model, confusion)
  }

  /** Whether a review is one to learn from: decided by its text alone. */
  private def learns(line: String, percent: Int): Boolean = {
    val sum = new CRC32()
    sum.update(line.getBytes(StandardCharsets.UTF_8))
    sum.getValue % 100 < percent
  }

  private def review(line: String): (Int, Array[String]) = {
    val tab = line.indexOf('\t')
    val label = Labels.indexOf(line.take(math.max(tab, 0)))
    require(label >= 0, s"a review must start with ${Labels.mkString(" or ")} and a tab: $line")
    val words = line.substring(tab + 1).toLowerCase(Locale.ROOT).split("[^a-z0-9']+")
    label -> words.filter(_.nonEmpty)
  }

  private def learn(reviews: RDD[(Int, Array[String])], smoothing: Double): BayesModel = {
    val labelled = reviews.map(_._1).countByValue()
    val counts = reviews
      .flatMap { case (label, words) => words.iterator.map(_ -> label) }
      .aggregateByKey((0L, 0L))(
        { case ((negative, positive), label) => (negative + 1 - label, positive + label) },
        { case ((negative, positive), (n, p)) => (negative + n, positive + p) }
      )
      .collectAsMap()
    BayesModel.of(Labels.indices.map(labelled.getOrElse(_, 0L)), counts, smoothing)
  }

  private def write(run: JobRun, model: BayesModel): Unit =
    run.session.sparkContext
      .parallelize(model.words.toSeq)
      .map { case (word, (negative, positive)) => s"$word\t$negative\t$positive" }
      .saveAsTextFile(run.output("model"))

  private def answer(
      model: BayesModel,
      confusion: scala.collection.Map[(Int, Int), Long]
  ): ObjectNode = {
    val tested = confusion.values.sum
    val right = confusion.collect {
      case ((label, predicted), count) if label == predicted => count
    }.sum
    val table = Labels.indices.map(label =>
      Labels.indices.map(predicted => confusion.getOrElse((label, predicted), 0L).toDouble)
    )
    Json.obj(
      "vocabulary" -> model.words.size,
      "tested" -> tested,
      "accuracy" -> right.toDouble / tested,
      "log_priors" -> model.logPriors,
      "confusion" -> table
    )
  }
}

/**
 * Logarithms of probabilities; label 0 is negative, 1 positive.
 *
 * @param logPriors of each label
 * @param words of each word in each label
 */
final private case class BayesModel(
    logPriors: Seq[Double],
    words: scala.collection.Map[String, (Double, Double)]
) {

  /** The more likely label; words that were never seen do not count. */
  def label(text: Array[String]): Int = {
    val margin =
      text.iterator.flatMap(words.get).map { case (negative, positive) => positive - negative }.sum
    if (logPriors(1) - logPriors(0) + margin > 0) 1 else 0
  }
}

private object BayesModel {

  def of(
      labelled: Seq[Long],
      counts: scala.collection.Map[String, (Long, Long)],
      smoothing: Double
  ): BayesModel = {
    val added = smoothing * counts.size
    val totals = (counts.values.map(_._1).sum + added, counts.values.map(_._2).sum + added)
    // A strict map: a view would be recomputed at every look-up.
    val words = counts.map { case (word, (negative, positive)) =>
      word -> ((
        math.log((negative + smoothing) / totals._1),
        math.log((positive + smoothing) / totals._2)
      ))
    }
    BayesModel(labelled.map(count => math.log(count.toDouble / labelled.sum)), words.toMap)
  }
}
