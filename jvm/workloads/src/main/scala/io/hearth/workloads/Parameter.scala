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

  /** As large as `Settings.int` can return, unless `most` says more. */
  def whole(
      name: String,
      default: Long,
      help: String,
      published: String = "",
      least: Long = 1,
      most: Long = Int.MaxValue
  ): Parameter = {
    val limit =
      if (most == Long.MaxValue) s"a whole number of at least $least"
      else s"a whole number from $least to $most"
    Parameter(
      name,
      default.toString,
      help,
      published,
      value =>
        if (value.toLongOption.exists(number => number >= least && number <= most)) None
        else Some(limit)
    )
  }

  def real(name: String, default: Double, help: String, published: String = ""): Parameter =
    Parameter(
      name,
      default.toString,
      help,
      published,
      value => if (value.toDoubleOption.exists(_.isFinite)) None else Some("a number")
    )

  /** A number above 0. */
  def positive(name: String, default: Double, help: String, published: String = ""): Parameter =
    real(name, default, help, published).copy(check =
      value =>
        if (value.toDoubleOption.exists(number => number > 0 && number.isFinite)) None
        else Some("a number above 0")
    )

  def choice(name: String, among: Seq[String], help: String, published: String = ""): Parameter =
    Parameter(
      name,
      among.head,
      help,
      published,
      value => if (among.contains(value)) None else Some(among.mkString("one of ", ", ", "")),
      among
    )
}

/** The values of a job's or a generator's parameters, checked and complete. */
final class Settings private (val values: Map[String, String]) {
  def text(name: String): String = values(name)
  def int(name: String): Int = Math.toIntExact(long(name))
  def long(name: String): Long = values(name).toLong
  def real(name: String): Double = values(name).toDouble
}

object Settings {

  /**
   * The defaults, overridden by the user's values.
   *
   * @throws UserError for a name that is unknown or a value beyond its limit
   */
  def of(owner: String, parameters: Seq[Parameter], chosen: Map[String, String]): Settings = {
    val known = parameters.map(p => p.name -> p).toMap
    chosen.foreach { case (name, value) =>
      val parameter = known.getOrElse(
        name,
        throw new UserError(
          s"--$name: $owner has no such parameter: " + (if (known.isEmpty) "it has none"
                                                        else
                                                          known.keys.toSeq.sorted
                                                            .mkString("it has ", ", ", ""))
        )
      )
      parameter
        .check(value)
        .foreach(limit => throw new UserError(s"--$name: '$value' is not $limit"))
    }
    new Settings(parameters.map(p => p.name -> chosen.getOrElse(p.name, p.default)).toMap)
  }
}
