package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.US_ASCII

import io.hearth.workloads.{Parameter, Settings}

/**
 * Short messages with tags, one a line: `number<TAB>user<TAB>word word #tagN word`, where number is
 * the event's (from 0, unique), user a whole number below `users`; 3 to 12 words and one to three
 * tags among them, blanks between. Users and tags follow a Zipf law. Stands for the status streams
 * of the published studies, which are no longer available.
 */
final class TagEvents(users: Int, tags: Int) {
  private val user = AliasTable.zipf(users, exponent = 0.8)
  private val tag = AliasTable.zipf(tags)
  private val word = AliasTable.zipf(TagEvents.Words, shift = TextLines.Shift)

  def writer(seed: Long): RowWriter = new RowWriter {
    private val draws = Draws.of(seed, "tags")

    def write(number: Long, to: LineBuffer): Unit = {
      draws.seat(number)
      to.putNumber(number)
      to.put('\t')
      to.putNumber(user.draw(draws.long()).toLong)
      to.put('\t')
      var words = 3 + draws.below(10)
      var wanted = 1 + draws.below(3)
      while (words + wanted > 0)
        if (draws.below(words + wanted) < wanted) {
          to.put(TagEvents.Tag)
          to.putNumber(tag.draw(draws.long()).toLong)
          to.put(' ')
          wanted -= 1
        } else {
          Vocabulary.standard.put(word.draw(draws.long()), to)
          words -= 1
        }
      to.endLine()
    }
  }
}

object TagEvents {
  private val Words = 10000
  private val Tag = "#tag".getBytes(US_ASCII)

  val parameters: Seq[Parameter] = Seq(
    Parameter.whole("users", 10000, "users who write", max = Generator.MaxChoices),
    Parameter.whole("tags", 1000, "tags that they use", max = Generator.MaxChoices)
  )

  lazy val standard: TagEvents = of(Settings.of("tags", parameters, Map.empty))

  def of(settings: Settings): TagEvents =
    new TagEvents(settings.int("users"), settings.int("tags"))
}
