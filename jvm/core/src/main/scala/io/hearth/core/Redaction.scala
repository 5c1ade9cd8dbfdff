package io.hearth.core

import java.util.regex.{Matcher, Pattern, PatternSyntaxException}

/**
 * Hides secrets in what is shown or kept, by Spark's own rule (Utils.redact of Spark 4.3: the value of a
 * setting whose key or value matches `spark.redaction.regex`), and within values: `-Dkey=value`,
 * `key=value` and a URL's credentials. `hearth.base.redaction` does the same for the command line.
 */
final class Redaction private (secret: Pattern, text: Option[Pattern]) {
  import Redaction._

  /** The value of a setting or of an environment variable. */
  def setting(key: String, value: String): String =
    if (secret.matcher(key).find()) Redacted
    else {
      val shown = apply(value)
      val rest = FileName.matcher(Hidden.matcher(shown).replaceAll("")).replaceAll("")
      if (Open.exists(key.startsWith) || !secret.matcher(rest).find()) shown else Redacted
    }

  /** One word of a command line: its value extends to its end, blanks included. */
  def word(word: String): String = {
    val assigned = Whole.matcher(word)
    if (assigned.matches() && secret.matcher(assigned.group(1)).find())
      word.take(assigned.start(2)) + Redacted
    else apply(word)
  }

  /** Whether a word holds what may not be shown. */
  def hides(text: String): Boolean = word(text) != text

  /** Any text. */
  def apply(line: String): String = {
    val withoutLogins = Login.matcher(line).replaceAll("$1$2" + Matcher.quoteReplacement(Redacted))
    val shown = withoutValues(withoutLogins)
    text.fold(shown)(_.matcher(shown).replaceAll(Matcher.quoteReplacement(Redacted)))
  }

  private def withoutValues(line: String): String = {
    val key = Assigned.matcher(line)
    val shown = new StringBuilder
    var at = 0
    while (key.find(at)) {
      val value = Value.matcher(line).region(key.end, line.length)
      val hidden = secret.matcher(key.group(1)).find() && value.lookingAt()
      shown ++= line.substring(at, key.end) ++= (if (hidden) Redacted else "")
      at = if (hidden) value.end else key.end
    }
    (shown ++= line.substring(at)).toString
  }
}

object Redaction {

  /** Spark's own placeholder (Utils.REDACTION_REPLACEMENT_TEXT). */
  val Redacted: String = "*********(redacted)"

  private val Default = "(?i)secret|password|token|access[.]?key|credential"
  private val Open = Vector("spark.hearth.", "spark.redaction.")
  private val Whole = Pattern.compile("""(?s)(?:-D|--?)?([\w.\-]+)=(.*)""")
  private val Login =
    Pattern.compile(
      """((?:https?|ftp|git|ssh)://)[^\s/@]+(?=@)|([A-Za-z][\w+.\-]*://)[^\s/@:]*:[^\s/@]*(?=@)"""
    )

  private val Assigned = Pattern.compile("""([\w.\-]+)(?:\s*=\s*|["']\s*:\s*|:\s+)""")
  private val Value = Pattern.compile(""""[^"]*"|'[^']*'|\S+""")
  private val Hidden =
    Pattern.compile("""[\w.\-]*(?:\s*=\s*|["']?\s*:\s*)?""" + Pattern.quote(Redacted))
  private val FileName = Pattern.compile("""(?<![\w/.\-])(?:file:)?/[^\s,:;="']*""")

  /** As the settings say, else Spark's default. */
  def of(settings: String => Option[String]): Redaction = new Redaction(
    pattern("spark.redaction.regex", settings).getOrElse(Pattern.compile(Default)),
    pattern("spark.redaction.string.regex", settings)
  )

  /** @throws UserError for a pattern that Java cannot read, which Spark refuses too */
  private def pattern(key: String, settings: String => Option[String]): Option[Pattern] =
    settings(key).filter(_.nonEmpty).map { text =>
      try Pattern.compile(text)
      catch {
        case e: PatternSyntaxException =>
          throw new UserError(
            s"$key: '$text' is not a regular expression: ${e.getDescription}",
            Some(e)
          )
      }
    }
}
