package io.hearth.workloads.data

import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

/**
 * Files of one form: a whole data set, or a table of one that has several.
 *
 * @param folder under the data set's; empty for the data set's own
 */
sealed abstract class Table(val folder: String, val extension: String)

/** Rows of bytes, one for each number. */
final class ByteTable(extension: String, val rows: RowWriter) extends Table("", extension)

/** @param message the Parquet schema */
final class ColumnTable(folder: String, message: String, val rows: ColumnWriter)
    extends Table(folder, "parquet") {

  def schema: MessageType = MessageTypeParser.parseMessageType(message)
}

/** Writes row `number`, line end included; holds a random stream: one for a thread. */
trait RowWriter {
  def write(number: Long, to: LineBuffer): Unit

  /** What it has counted in all rows written so far, by the name of a fact. */
  def counted: Map[String, Long] = Map.empty

  final def line(number: Long): String = {
    val buffer = new LineBuffer()
    write(number, buffer)
    buffer.line
  }
}

/** Writes the rows that belong to a number; holds a random stream: one for a thread. */
trait ColumnWriter {

  /** How many rows belong to it. */
  def count(number: Long): Int = 1

  /** Row `item` of them, as the fields of a message that has been started. */
  def write(number: Long, item: Int, to: RecordConsumer): Unit
}

object ColumnWriter {

  def field(to: RecordConsumer, name: String, position: Int)(value: => Unit): Unit = {
    to.startField(name, position)
    value
    to.endField(name, position)
  }

  /** A list in the three levels that Parquet's LIST annotation asks for. */
  def doubles(to: RecordConsumer, name: String, position: Int, values: Array[Double]): Unit =
    field(to, name, position) {
      to.startGroup()
      field(to, "list", 0)(values.foreach { value =>
        to.startGroup()
        field(to, "element", 0)(to.addDouble(value))
        to.endGroup()
      })
      to.endGroup()
    }
}
