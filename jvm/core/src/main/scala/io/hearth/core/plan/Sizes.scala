package io.hearth.core.plan

import scala.util.Try

/** Sizes as Spark writes them in its settings: `8g`, `512m`, `1024`; no fractions. */
private[plan] object Sizes {
  private val Form = """(\d{1,18})\s*([kmgtp]?)b?""".r

  /**
   * Mebibytes of a Spark size, rounded up.
   *
   * @param plainUnit what a number without a unit counts: `m` for `spark.executor.memory`, `b` for
   *                  `spark.memory.offHeap.size`
   * @return None where Spark would not read it either, or where it exceeds what a Long counts
   */
  def mib(text: String, plainUnit: Char): Option[Long] = text.trim.toLowerCase match {
    case Form(digits, unit) =>
      val bytes = BigInt(digits) * unitBytes(unit.headOption.getOrElse(unitOf(text, plainUnit)))
      val up = (bytes + (BigInt(1) << 20) - 1) >> 20
      Try(up.bigInteger.longValueExact).toOption
    case _ => None
  }

  // "100b" counts bytes whatever a plain number counts.
  private def unitOf(text: String, plainUnit: Char): Char =
    if (text.trim.toLowerCase.endsWith("b")) 'b' else plainUnit

  private def unitBytes(unit: Char): BigInt = BigInt(1) << ("bkmgtp".indexOf(unit.toInt) * 10)

  /** A size for people: `31 GB`, `900 MB`. */
  def show(mb: Long): String =
    if (mb >= 10240) s"${mb / 1024} GB"
    else if (mb >= 1024 && mb % 1024 == 0) s"${mb / 1024} GB"
    else s"$mb MB"
}
