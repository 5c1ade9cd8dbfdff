package io.hearth.workloads.data

import java.nio.file.Files

import scala.collection.mutable

import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.workloads.{Settings, UserError}

/** What is drawn, and that it depends on seed and number alone. */
class GeneratorTest extends AnyFunSuite {

  private def defaults(generator: Generator, chosen: (String, String)*): Settings =
    Settings.of(generator.name, generator.parameters, chosen.toMap)

  private def lines(generator: Generator, count: Int, chosen: (String, String)*): Seq[String] =
    generator.tables(1, defaults(generator, chosen: _*), count.toLong) match {
      case Seq(table: ByteTable) => (0 until count).map(n => table.rows.line(n.toLong))
      case other => fail(s"${generator.name} has ${other.size} tables")
    }

  private def frequencies(values: Iterable[String]): Seq[Int] =
    values.groupMapReduce(identity)(_ => 1)(_ + _).values.toSeq.sorted.reverse

  test("tasks of one JVM share no Binary, whose reads move a position in its buffer") {
    def values(generator: Generator): Seq[Binary] = {
      val taken = new BinaryValues
      generator.tables(1, defaults(generator), 50).foreach {
        case table: ColumnTable => (0L until 50L).foreach(table.rows.write(_, 0, taken))
        case _: ByteTable => ()
      }
      taken.values.toSeq
    }
    val made = Generator.all.map(generator => (values(generator), values(generator)))
    assert(made.exists(_._1.nonEmpty))
    for ((one, other) <- made) {
      assert(one === other)
      assert(one.forall(value => !other.exists(_ eq value)))
    }
  }

  test("the same line comes for a number whatever was asked for before") {
    val events = Seq[Long => String](
      TextLines.standard.writer(7).line,
      ClickEvents.standard.writer(7).line,
      TagEvents.standard.writer(7).line
    )
    for (line <- events) {
      val alone = line(1000000)
      (0L until 10L).foreach(line)
      assert(line(1000000) === alone)
      assert(line(1000001) !== alone)
    }
    assert(ClickEvents.standard.writer(7).line(5).split('\t').head === "5")
  }

  test("text has English's word lengths, sentence lengths and Zipf's slope") {
    val text = lines(Text, 20000)
    val words = text.flatMap(_.split(' '))
    val letters = words.map(_.length).sum.toDouble / words.size
    assert(letters > 4.5 && letters < 5.1)
    val length = words.size.toDouble / text.size
    assert(length > 17 && length < 23)
    val counts = frequencies(words)
    val slope = math.log(counts(9).toDouble / counts(999)) / math.log(1000.0 / 10)
    assert(slope > 0.9 && slope < 1.1, "between rank 10 and rank 1000")
    assert(!text.exists(line => line.isEmpty || line.contains("  ") || line.endsWith(" ")))
  }

  test("distinct words of the vocabulary are as long as those of an English list") {
    val words = (0 until Vocabulary.Default).map(Vocabulary.standard.word)
    assert(words.distinct.size === words.size)
    val letters = words.map(_.length).sum.toDouble / words.size
    assert(letters > 7 && letters < 8)
  }

  test("labels of reviews are even, and the words tell them apart") {
    val reviews = lines(Reviews, 3000).map(_.split("[\t ]").toSeq)
    val positive = reviews.count(_.head == "positive")
    assert(math.abs(positive - 1500) < 130)
    val (train, judge) = reviews.splitAt(2000)
    val right = judge.count(review => review.head == classify(train, review.tail))
    assert(right > 800 && right < 1000, "of 1000: signal, yet not without doubt")
  }

  /** Naive Bayes, all labels as likely. */
  private def classify(train: Seq[Seq[String]], review: Seq[String]): String =
    Seq("positive", "negative").maxBy { label =>
      val counts = bags.getOrElseUpdate(label, bag(train, label))
      val all = counts.values.sum + 100000.0
      review.map(word => math.log((counts.getOrElse(word, 0) + 1) / all)).sum
    }
  private val bags = mutable.Map.empty[String, Map[String, Int]]

  private def bag(train: Seq[Seq[String]], label: String): Map[String, Int] =
    train.filter(_.head == label).flatMap(_.tail).groupMapReduce(identity)(_ => 1)(_ + _)

  test("what all rows of a data set share is another for another seed") {
    def shared(seed: Long): Seq[Seq[Double]] = {
      val items = Shop.tables(seed, defaults(Shop), 70).collect {
        case table: ColumnTable if table.folder == "items" => table.rows
      }
      Seq(
        new ClusterRows(3, 2, seed).centres.toSeq.flatten,
        new DenseRows(3, seed).normal.toSeq,
        (0L until 9L).map(new Shuffle(1000, seed)(_).toDouble),
        items.flatMap(rows => (0L until 70L).map(rows.count(_).toDouble))
      )
    }
    for ((one, two) <- shared(1).zip(shared(2)))
      assert(one.nonEmpty && one != two)
  }

  test("a shuffle gives every number once") {
    for (count <- Seq(2L, 3L, 1000L, 4096L, 4097L)) {
      val shuffle = new Shuffle(count, 5)
      assert((0L until count).map(shuffle(_)).sorted === (0L until count))
    }
  }

  test("sparse vectors are LibSVM lines: ascending, none twice, within their dimensions") {
    for (line <- lines(SparseVectors, 500, "dimensions" -> "50", "classes" -> "3")) {
      val words = line.split(' ')
      val indices = words.tail.map(_.takeWhile(_ != ':').toInt).toSeq
      assert(Set("0", "1", "2").contains(words.head))
      assert(indices.size === 20)
      assert(indices === indices.distinct.sorted)
      assert(indices.head >= 1 && indices.last <= 50)
    }
  }

  test("parts cover all numbers once, and their count depends on the size alone") {
    val layout = Layout(1000003, 7)
    val ranges = (0 until 7).map(layout.range)
    assert(ranges.head.from === 0 && ranges.last.until === 1000003)
    assert(ranges.zip(ranges.tail).forall { case (a, b) => a.until == b.from })
    def parts(size: String): Int =
      Layout.of(DataSet.of(Records, "1", size, defaults(Records)), Records, defaults(Records)).parts
    assert(Seq("1m", "64m", "1g", "8g", "1t").map(parts) === Seq(4, 4, 64, 256, 16384))
  }

  test("a finished data set has no draft of a task whose executor was killed") {
    val folder = Files.createTempDirectory("drafts")
    val part = Files.writeString(Files.createDirectory(folder.resolve("a")).resolve("p"), "row")
    val draft = Files.writeString(part.resolveSibling(".p.77-1.draft"), "half a r")
    val written = WrittenFile("a/p", 1, 3, "0", Map.empty)
    new DataFolder(folder)
      .finish(DataSet("g", 1, 1, 3, Map.empty), Map.empty, Seq(written), parts = 1)
    assert(Files.exists(part) && !Files.exists(draft))
    Seq(part, part.getParent, folder.resolve("_manifest.json"), folder).foreach(Files.delete)
  }

  test("what cannot be made is refused with its limit") {
    def refusal(block: => Any): String = intercept[UserError](block).getMessage
    def sized(size: String): DataSet = DataSet.of(Text, "1", size, defaults(Text))
    assert(
      refusal(sized("100k")) ===
        "--size: 100k is below the minimum of 262144 bytes: give 256k or more"
    )
    assert(refusal(sized("2000t")).contains("is above the maximum of"))
    assert(refusal(sized("many")).contains("'many' is not a size"))
    assert(refusal(DataSet.of(Text, "one", "1m", defaults(Text))).contains("--seed: 'one'"))
    val crowded = defaults(SparseVectors, "nonzeros" -> "600")
    assert(refusal(SparseVectors.check(crowded)).contains("600 is above 500"))
    assert(refusal(Generator.named("txt")).contains("text, reviews"))
  }
}

/** Takes a row's binary values and leaves out all else. */
final private class BinaryValues extends RecordConsumer {
  val values: mutable.Buffer[Binary] = mutable.Buffer.empty

  override def addBinary(value: Binary): Unit = values += value
  override def addInteger(value: Int): Unit = ()
  override def addLong(value: Long): Unit = ()
  override def addBoolean(value: Boolean): Unit = ()
  override def addFloat(value: Float): Unit = ()
  override def addDouble(value: Double): Unit = ()
  override def startMessage(): Unit = ()
  override def endMessage(): Unit = ()
  override def startField(field: String, index: Int): Unit = ()
  override def endField(field: String, index: Int): Unit = ()
  override def startGroup(): Unit = ()
  override def endGroup(): Unit = ()
}
