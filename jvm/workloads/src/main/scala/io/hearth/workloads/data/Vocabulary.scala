package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.US_ASCII

import scala.collection.mutable

/**
 * Made-up pronounceable words, the most common first; the same for every seed. A word of rank
 * r has 1.9 + 1.15 log10(r) letters on average, so that running text has English's 4.7 to 4.8
 * letters a word and the list of distinct words 7 to 8 (Norvig, "English letter frequency counts:
 * Mayzner revisited", 2012: 4.79 and 7.60).
 */
final class Vocabulary(val size: Int) {
  private val spelled = Vocabulary.spell(size)
  private val ends = spelled.scanLeft(0)(_ + _.length + 1)
  private val bytes = spelled.iterator.flatMap(word => s"$word ").map(_.toByte).toArray

  def word(rank: Int): String =
    new String(bytes, ends(rank), ends(rank + 1) - ends(rank) - 1, US_ASCII)

  /** The word followed by a blank. */
  def put(rank: Int, to: LineBuffer): Unit = {
    val from = ends(rank)
    to.put(bytes, from, ends(rank + 1) - from)
  }
}

object Vocabulary {
  val Default = 100000
  val MaxSize = 10000000L

  /** The number of words of a text, unless another is given. */
  lazy val standard = new Vocabulary(Default)

  def of(size: Int): Vocabulary = if (size == Default) standard else new Vocabulary(size)

  private val Vowels = "aaeeeeiioou"
  private val Consonants = "bccddffgghhllllmmmnnnnnpprrrrrsssssttttttvwyk"

  private def spell(size: Int): Array[String] = {
    val draws = Draws.of(0, "vocabulary")
    val taken = mutable.HashSet.empty[String]
    Array.tabulate(size) { rank =>
      val mean = 1.9 + 1.15 * StrictMath.log10(rank + 1.0)
      var letters = math.max(1, math.round(mean + draws.normal() * mean / 3.5).toInt)
      var word = spell(letters, draws)
      while (!taken.add(word)) {
        if (draws.below(4) == 0) letters += 1
        word = spell(letters, draws)
      }
      word
    }
  }

  /** Vowels and consonants alternate, with two consonants together now and then. */
  private def spell(letters: Int, draws: Draws): String = {
    val word = new StringBuilder(letters)
    var vowel = draws.below(3) == 0
    while (word.length < letters) {
      val among = if (vowel) Vowels else Consonants
      word.append(among.charAt(draws.below(among.length)))
      vowel = !vowel && (word.length < 2 || draws.below(5) != 0)
    }
    word.toString
  }
}
