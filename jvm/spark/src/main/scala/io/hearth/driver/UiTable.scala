package io.hearth.driver

/**
 * A table of the tab "hearth" in Spark's UI, in plain text.
 *
 * @param note stands below the title
 */
final case class UiTable(
    title: String,
    note: String,
    columns: Vector[String],
    rows: Vector[Vector[String]]
)
