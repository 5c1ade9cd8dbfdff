package io.hearth.workloads

/**
 * A setting of a job or a generator.
 *
 * @param default the value unless the user gives another: small, seconds on two cores
 * @param published what the study used, for the help; empty where it does not say
 * @param check the limit that a value violates, if any: `Some("at least 1")`
 * @param choices all allowed values, the default first; empty where they are not listed
 */
final case class Parameter(
    name: String,
    default: String,
    help: String,
    published: String = "",
    check: String => Option[String] = _ => None,
    choices: Seq[String] = Nil
)

object Parameter {

  /** As large as `Settings.int` can return, unless `max` says more. */
  def whole(
      name: String,
      default: Long,
      help: String,
      published: String = "",
      min: Long = 1,
      max: Long = Int.MaxValue
  ): Parameter = {
    val limit =
      if (max == Long.MaxValue) s"a whole number of at least $min"
      else s"a whole number from $min to $max"
    Parameter(
      name,
      default.toString,
      help,
      published,
      value => Option.unless(value.toLongOption.exists(n => n >= min && n <= max))(limit)
    )
  }

  /** A finite number that is within a limit. */
  def real(
      name: String,
      default: Double,
      help: String,
      published: String = "",
      limit: String = "a number",
      within: Double => Boolean = _ => true
  ): Parameter = Parameter(
    name,
    default.toString,
    help,
    published,
    value => Option.unless(value.toDoubleOption.exists(n => n.isFinite && within(n)))(limit)
  )

  def positive(name: String, default: Double, help: String): Parameter =
    real(name, default, help, limit = "a number above 0", within = _ > 0)

  def choice(name: String, among: Seq[String], help: String, published: String = ""): Parameter =
    Parameter(
      name,
      among.head,
      help,
      published,
      value => Option.unless(among.contains(value))(among.mkString("one of ", ", ", "")),
      among
    )
}

/** The values of a job's or a generator's parameters, checked and complete. */
final class Settings private (val values: Map[String, String]) {
  def text(name: String): String = values(name)
  def int(name: String): Int = Math.toIntExact(long(name))
  def long(name: String): Long = values(name).toLong
  def real(name: String): Double = values(name).toDouble

  /** Of a number for which 0 means that the job chooses. */
  def chosen(name: String): Option[Int] = Some(int(name)).filter(_ > 0)
}

object Settings {

  /**
   * The defaults, overridden by the user's values.
   *
   * @throws UserError for a name that is unknown or a value beyond its limit
   */
  def of(owner: String, parameters: Seq[Parameter], chosen: Map[String, String]): Settings = {
    val known = parameters.map(p => p.name -> p).toMap
    val names = if (known.isEmpty) "none" else known.keys.toSeq.sorted.mkString(", ")
    chosen.foreach { case (name, value) =>
      val parameter = known.getOrElse(
        name,
        throw new UserError(s"--$name: $owner has no such parameter: it has $names")
      )
      parameter
        .check(value)
        .foreach(limit => throw new UserError(s"--$name: '$value' is not $limit"))
    }
    new Settings(parameters.map(p => p.name -> chosen.getOrElse(p.name, p.default)).toMap)
  }
}
