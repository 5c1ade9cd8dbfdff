package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.US_ASCII

import io.hearth.workloads.{Parameter, Settings, UserError}

object Text extends Generator {
  val name = "text"
  val version = 1
  val summary = "lines of made-up words, as an encyclopaedia's in their lengths and frequencies"
  val distribution =
    "words: Zipf-Mandelbrot, 1 / (rank + 2.7) (Zipf 1949, Mandelbrot 1953), 4.7 letters on average " +
      "(Norvig 2012); words per line: log-normal, median 17 (Williams 1940); the same words for every seed"
  override val parameters: Seq[Parameter] = Seq(
    Parameter.whole(
      "vocabulary",
      Vocabulary.Default.toLong,
      "distinct words",
      min = 100,
      max = Vocabulary.MaxSize
    )
  )

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("txt", TextLines.of(settings.int("vocabulary")).writer(seed)))
}

object Reviews extends Generator {
  val name = "reviews"
  val version = 1
  val summary = "labelled reviews: positive or negative, a tab, words"
  val distribution =
    "labels even; words per review: log-normal, median 170, as film reviews; words: Zipf-Mandelbrot, " +
      "where 20 % of those below rank 50 are 2.33 times as likely under one label as under the " +
      "other, so that naive Bayes is right for about 85 % (81 % of film reviews: Pang, Lee, " +
      "Vaithyanathan 2002)"
  override val parameters: Seq[Parameter] = Text.parameters

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("txt", new ReviewLines(settings.int("vocabulary")).writer(seed)))
}

final class ReviewLines(size: Int) {
  private val vocabulary = Vocabulary.of(size)
  private val labels = Seq("negative\t", "positive\t").map(_.getBytes(US_ASCII)).toArray
  private val ranks =
    Array.tabulate(2)(l => AliasTable.zipf(size, 1.0, TextLines.Shift, ReviewLines.lean(_, l)))
  private val lengths = AliasTable.logNormal(median = 170, sigma = 0.6, max = 1000)

  def writer(seed: Long): RowWriter = new RowWriter {
    private val draws = Draws.of(seed, Reviews.name)

    def write(number: Long, to: LineBuffer): Unit = {
      draws.seat(number)
      val label = draws.below(2)
      to.put(labels(label))
      var left = lengths.draw(draws.long())
      while (left > 0) {
        vocabulary.put(ranks(label).draw(draws.long()), to)
        left -= 1
      }
      to.endLine()
    }
  }
}

object ReviewLines {
  private val Neutral = 50

  /** How much more likely a word is under a label; the same words for every seed. */
  private def lean(rank: Int, label: Int): Double = {
    val fate = (Draws.mix(rank.toLong) >>> 1) % 200
    if (rank < Neutral || fate >= 40) 1.0
    else if (fate % 2 == label) 1.4
    else 0.6
  }
}

object SparseVectors extends Generator {
  val name = "vectors-sparse"
  val version = 1
  val summary = "labelled sparse vectors of small counts, in LibSVM's form"
  val distribution =
    "labels even; a quarter of the indices are drawn from those that belong to the label " +
      "(index mod classes), the others with a density of 1 / (2 sqrt(x)); values geometric, from 1"
  override val parameters: Seq[Parameter] = Seq(
    Parameter.whole("dimensions", 1000, "length of a vector", min = 2, max = Int.MaxValue),
    Parameter.whole("nonzeros", 20, "values that are not zero", max = 100000),
    Parameter.whole("classes", 2, "labels, from 0", min = 2, max = Int.MaxValue)
  )

  override def check(settings: Settings): Unit = {
    val dimensions = settings.int("dimensions")
    if (settings.int("nonzeros") > dimensions / 2)
      throw new UserError(
        s"--nonzeros: ${settings.int("nonzeros")} is above ${dimensions / 2}, half of " +
          s"--dimensions $dimensions: give fewer, or more dimensions"
      )
    if (settings.int("classes") > dimensions)
      throw new UserError(
        s"--classes: ${settings.int("classes")} is above --dimensions $dimensions: give fewer"
      )
  }

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] = Seq(
    new ByteTable(
      "txt",
      new SparseLines(
        settings.int("dimensions"),
        settings.int("nonzeros"),
        settings.int("classes"),
        Draws.of(seed, name)
      )
    )
  )
}

final private class SparseLines(dimensions: Int, nonzeros: Int, classes: Int, draws: Draws)
    extends RowWriter {
  private val indices = new Array[Int](nonzeros)

  def write(number: Long, to: LineBuffer): Unit = {
    draws.seat(number)
    val label = draws.below(classes)
    fill(label)
    to.putNumber(label.toLong)
    indices.foreach { index =>
      to.put(' ')
      to.putNumber(index + 1L)
      to.put(':')
      to.putNumber(1L + java.lang.Long.numberOfTrailingZeros(draws.long()))
    }
    to.put('\n')
  }

  /** Ascending, without repetition. */
  private def fill(label: Int): Unit = {
    var filled = 0
    while (filled < nonzeros) {
      val index = drawIndex(label)
      val found = java.util.Arrays.binarySearch(indices, 0, filled, index)
      if (found < 0) {
        val at = -found - 1
        System.arraycopy(indices, at, indices, at + 1, filled - at)
        indices(at) = index
        filled += 1
      }
    }
  }

  private def drawIndex(label: Int): Int =
    if (draws.below(4) == 0) draws.below(dimensions / classes) * classes + label
    else {
      val u = draws.real()
      (u * u * dimensions).toInt
    }
}

object Records extends Generator {
  val name = "records"
  val version = 1
  val summary = "records of 100 bytes: a key of 10, a value of 90"
  val distribution =
    "keys uniform; values: the record's number in 32 hexadecimal digits and 58 times a letter (the " +
      "form of the sort benchmark's records, sortbenchmark.org)"

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("bin", new RecordBytes(Draws.of(seed, name))))
}

final private class RecordBytes(draws: Draws) extends RowWriter {
  private val fills = Array.tabulate(26)(letter => Array.fill(58)(('A' + letter).toByte))

  def write(number: Long, to: LineBuffer): Unit = {
    draws.seat(number)
    val last = draws.long()
    to.putBytes(draws.long(), 8)
    to.putBytes(last, 2)
    to.putHex(0, 16)
    to.putHex(number, 16)
    to.put(fills((((last >>> 32) * 26) >>> 32).toInt))
  }
}

object Clicks extends Generator {
  val name = "clicks"
  val version = 1
  val summary = "clicks on a site: number, user, page, status and zip code, by tabs"
  val distribution =
    "pages: Zipf 1; users and zip codes: Zipf 0.8; errors: 2 %, in every tenth zip code 20 % (the " +
      "fields of Spark's PageViewGenerator)"
  override val parameters: Seq[Parameter] = ClickEvents.parameters

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("txt", ClickEvents.of(settings).writer(seed)))
}

object Tags extends Generator {
  val name = "tags"
  val version = 1
  val summary = "short messages with tags: number, user and words, by tabs"
  val distribution =
    "tags: Zipf 1, one to three a message; users: Zipf 0.8; 3 to 12 words of the text's commonest"
  override val parameters: Seq[Parameter] = TagEvents.parameters

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] =
    Seq(new ByteTable("txt", TagEvents.of(settings).writer(seed)))
}
