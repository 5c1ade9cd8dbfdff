package io.hearth.workloads

/** `--name value` words of a command line; each name at most once, `--data` any number of times. */
final class Arguments private (pairs: Seq[(String, String)]) {
  def get(name: String): Option[String] = pairs.collectFirst { case (`name`, value) => value }
  def all(name: String): Seq[String] = pairs.collect { case (`name`, value) => value }

  def required(name: String): String =
    get(name).getOrElse(throw new UserError(s"--$name is missing: give --$name VALUE"))

  def without(names: String*): Map[String, String] =
    pairs.filterNot(pair => names.contains(pair._1)).toMap
}

object Arguments {

  def parse(words: Seq[String]): Arguments = new Arguments(
    words
      .grouped(2)
      .map {
        case Seq(name, value) if name.startsWith("--") => name.drop(2) -> value
        case other =>
          throw new UserError(s"'${other.mkString(" ")}' is not of the form --name value")
      }
      .toSeq
  )
}
