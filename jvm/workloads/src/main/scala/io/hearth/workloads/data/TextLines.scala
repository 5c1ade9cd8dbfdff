package io.hearth.workloads.data

/**
 * Lines of words, one sentence a line: words by a Zipf-Mandelbrot law, 1 / (rank + 2.7), the number
 * of words in a line log-normal with median 17 and mean about 20 (sentence lengths of English prose
 * are log-normal: Yule 1939; Williams 1940).
 */
final class TextLines(vocabulary: Vocabulary) {
  private val ranks = AliasTable.zipf(vocabulary.size, shift = TextLines.Shift)
  private val lengths = AliasTable.logNormal(median = 17, sigma = 0.55, max = 120)

  def writer(seed: Long): RowWriter = new RowWriter {
    private val draws = Draws.of(seed, "text")
    private var words = 0L

    def write(number: Long, to: LineBuffer): Unit = {
      draws.seat(number)
      var left = lengths.draw(draws.long())
      words += left
      while (left > 0) {
        vocabulary.put(ranks.draw(draws.long()), to)
        left -= 1
      }
      to.endLine()
    }

    override def counted: Map[String, Long] = Map("words" -> words)
  }
}

object TextLines {
  val Shift = 2.7

  lazy val standard = new TextLines(Vocabulary.standard)

  def of(vocabulary: Int): TextLines =
    if (vocabulary == Vocabulary.Default) standard else new TextLines(Vocabulary.of(vocabulary))
}
