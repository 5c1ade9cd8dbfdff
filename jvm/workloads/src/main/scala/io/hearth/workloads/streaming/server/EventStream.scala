package io.hearth.workloads.streaming.server

import io.hearth.workloads.UserError
import io.hearth.workloads.data.{ClickEvents, TagEvents, TextLines}

/**
 * A stream of events, a line each: event `i` is a pure function of the seed and `i`.
 *
 * @param lines of a seed: the line of each index
 */
final case class EventStream(name: String, summary: String, lines: Long => Long => String)

object EventStream {

  val all: Seq[EventStream] = Seq(
    EventStream("text", "lines of English-like words", TextLines.standard.writer(_).line),
    EventStream(
      "clicks",
      "page views: number, user, URL, status, zip code",
      ClickEvents.standard.writer(_).line
    ),
    EventStream(
      "tags",
      "short messages with tags: number, user, words",
      TagEvents.standard.writer(_).line
    ),
    EventStream(
      "points",
      "vectors around 8 centres: numbers separated by blanks",
      seed => Points.line(seed, _)
    ),
    EventStream(
      "labelled",
      "class (0 or 1), target, and a vector of which both are a noisy linear function",
      seed => Labelled.line(seed, _)
    )
  )

  /** @throws UserError where none has this name */
  def named(name: String): EventStream =
    all
      .find(_.name == name)
      .getOrElse(
        throw new UserError(
          s"'$name' is not a stream: use one of ${all.map(_.name).mkString(", ")}"
        )
      )
}
