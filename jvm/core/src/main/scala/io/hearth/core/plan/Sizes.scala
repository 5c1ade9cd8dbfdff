package io.hearth.core.plan

import scala.util.Try

/** Sizes as Spark writes them in its settings: `8g`, `512m`, `1024`; no fractions. */
private[plan] object Sizes {
  private val Form = """(\d{1,18})(?:([kmgtp])i?b?|b)?""".r

  /**
   * Mebibytes of a Spark size, rounded up.
   *
   * @param plainUnit what a number without a unit counts: `m` for `spark.executor.memory`, `b` for
   *                  `spark.memory.offHeap.size`
   * @return None where Spark would not read it either, or where it exceeds what a Long counts
   */
  def mib(text: String, plainUnit: Char): Option[Long] =
    bytes(text, plainUnit).flatMap { size =>
      val up = (size + (BigInt(1) << 20) - 1) >> 20
      Try(up.bigInteger.longValueExact).toOption
    }

  /** Bytes of a Spark size; None where Spark would not read it. */
  def bytes(text: String, plainUnit: Char): Option[BigInt] = text.trim.toLowerCase match {
    case Form(digits, unit) =>
      Some(BigInt(digits) * unitBytes(Option(unit).fold(unitOf(text, plainUnit))(_.head)))
    case _ => None
  }

  // "100b" counts bytes whatever a plain number counts.
  private def unitOf(text: String, plainUnit: Char): Char =
    if (text.trim.toLowerCase.endsWith("b")) 'b' else plainUnit

  private def unitBytes(unit: Char): BigInt = BigInt(1) << ("bkmgtp".indexOf(unit.toInt) * 10)

  /** A size for people, never more than there is: `31 GB`, `1.2 TB`, `900 MB`. */
  def show(mb: Long): String =
    if (mb < 1024) s"$mb MB"
    else if (mb < 1024 * 1024) s"${tenths(mb, 1024)} GB"
    else s"${tenths(mb, 1024 * 1024)} TB"

  /** Truncated to tenths, shown only below ten. */
  private def tenths(mb: Long, unit: Long): String = {
    val (whole, tenth) = (mb / unit, mb % unit * 10 / unit)
    if (whole >= 10 || tenth == 0) s"$whole" else s"$whole.$tenth"
  }

  /** The smallest and the largest of them. */
  def range(sizesMb: Vector[Long]): String =
    if (sizesMb.min == sizesMb.max) show(sizesMb.min)
    else s"${show(sizesMb.min)} to ${show(sizesMb.max)}"

  /** As the user typed it; a number alone gets the unit in which it was read. */
  def asked(size: UserValue[Long]): String = size.typed
    .map(_.trim)
    .filter(_.lastOption.exists(_.isLetter))
    .fold(exact(size.value))(text =>
      if (text.takeWhile(_.isDigit).length > 4) s"$text (${show(size.value)})" else text
    )

  /** To the MiB and as it can be typed: `31g`, `9500m`; with a readable size after large ones. */
  def exact(mb: Long): String =
    if (mb % 1024 == 0 && mb > 0) s"${mb / 1024}g"
    else if (mb < 10240) s"${mb}m"
    else s"${mb}m (${show(mb)})"
}
