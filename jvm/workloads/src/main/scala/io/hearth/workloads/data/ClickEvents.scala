package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.US_ASCII

import io.hearth.workloads.{Parameter, Settings}

/**
 * Clicks on the pages of a site, one a line: `number<TAB>user<TAB>url<TAB>status<TAB>zip`, where
 * number is the event's (from 0, unique), user a whole number below `users`, url `/page/N`, status
 * 200, 404 or 500, zip five digits. Users, pages and zip codes follow a Zipf law; 2 % of the
 * answers are errors, 20 % in one of ten zip codes. The fields are those of Spark's click-stream
 * example (`PageViewGenerator`).
 */
final class ClickEvents(users: Int, pages: Int, zips: Int) {
  private val user = AliasTable.zipf(users, exponent = 0.8)
  private val page = AliasTable.zipf(pages)
  private val zip = AliasTable.zipf(zips, exponent = 0.8)

  def writer(seed: Long): RowWriter = new RowWriter {
    private val draws = Draws.of(seed, "clicks")

    def write(number: Long, to: LineBuffer): Unit = {
      draws.seat(number)
      to.putNumber(number)
      to.put('\t')
      to.putNumber(user.draw(draws.long()).toLong)
      to.put(ClickEvents.Page)
      to.putNumber(page.draw(draws.long()).toLong)
      val place = zip.draw(draws.long())
      to.put(ClickEvents.status(place, draws.real()))
      to.putNumber(ClickEvents.FirstZip + place.toLong)
      to.put('\n')
    }
  }
}

object ClickEvents {
  private val FirstZip = 10000
  private val MaxZips = 90000L
  private val Page = "\t/page/".getBytes(US_ASCII)
  private val Answers = Seq(200, 404, 500).map(code => s"\t$code\t".getBytes(US_ASCII)).toArray

  val parameters: Seq[Parameter] = Seq(
    Parameter.whole("users", 10000, "users who click", max = Generator.MaxChoices),
    Parameter.whole("pages", 1000, "pages that they view", max = Generator.MaxChoices),
    Parameter.whole("zips", 1000, "zip codes that the users live in", max = MaxZips)
  )

  lazy val standard: ClickEvents = of(Settings.of("clicks", parameters, Map.empty))

  def of(settings: Settings): ClickEvents =
    new ClickEvents(settings.int("users"), settings.int("pages"), settings.int("zips"))

  private def status(place: Int, chance: Double): Array[Byte] = {
    val errors = if (place % 10 == 3) 0.2 else 0.02
    Answers(if (chance >= errors) 0 else if (chance < errors / 4) 2 else 1)
  }
}
