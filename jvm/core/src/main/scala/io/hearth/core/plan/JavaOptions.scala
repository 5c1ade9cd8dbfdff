package io.hearth.core.plan

/** JVM options as one string, taken apart as Spark does it: blanks separate, quotes group. */
object JavaOptions {
  private val Word = """(?:[^\s"']|"[^"]*"|'[^']*')+""".r
  private val Quoted = """"([^"]*)"|'([^']*)'""".r

  def split(text: String): Vector[String] =
    Word.findAllIn(text).map(unquote).toVector

  private def unquote(word: String): String =
    Quoted.replaceAllIn(
      word,
      m => java.util.regex.Matcher.quoteReplacement(Option(m.group(1)).getOrElse(m.group(2)))
    )

  /** The reverse of [[split]]. */
  def join(options: Vector[String]): String =
    options.map(o => if (o.exists(_.isWhitespace)) "\"" + o + "\"" else o).mkString(" ")

  /** Whether the user chose a collector, such as -XX:+UseG1GC: the JVM refuses to start with two. */
  def choosesCollector(options: Vector[String]): Boolean = collector(options).nonEmpty

  /** The flag of the first collector that the user chose. */
  def collector(options: Vector[String]): Option[String] =
    options.find(_.matches("""-XX:\+Use\w+GC"""))

  def sets(options: Vector[String], flag: String): Boolean =
    options.exists(_.matches(s"-XX:[+-]?\\Q$flag\\E(=.*)?"))

  /** The value of a flag such as -XX:ParallelGCThreads=4, the last one given. */
  def valueOf(options: Vector[String], flag: String): Option[String] =
    options.reverseIterator.map(_.split("=", 2)).collectFirst {
      case Array(name, value) if name == s"-XX:$flag" => value
    }
}
