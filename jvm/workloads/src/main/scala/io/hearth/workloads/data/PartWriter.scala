package io.hearth.workloads.data

import java.io.{FileOutputStream, OutputStream}
import java.nio.file.{Files, Path}
import java.util.zip.CRC32

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.conf.{ParquetConfiguration, PlainParquetConfiguration}
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.{OutputFile, PositionOutputStream}
import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.schema.MessageType

import io.hearth.workloads.Draft

/**
 * A file as it was written.
 *
 * @param crc32 in 8 hexadecimal digits
 * @param counted what its writer counted besides rows; the manifest holds the sums over all files
 */
final case class WrittenFile(
    path: String,
    rows: Long,
    bytes: Long,
    crc32: String,
    counted: Map[String, Long]
)

/** Counts and checksums what passes through to `to`. */
final class SummedStream(to: OutputStream) extends PositionOutputStream {
  private val sum = new CRC32()
  private var passed = 0L

  def getPos: Long = passed
  def crc32: Long = sum.getValue

  override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

  override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
    to.write(bytes, from, length)
    sum.update(bytes, from, length)
    passed += length
  }

  override def flush(): Unit = to.flush()
  override def close(): Unit = to.close()
}

/** Writes the rows of a range of numbers, in memory that does not grow with the range. */
object PartWriter {
  private val BlockBytes = 256 << 10
  private val RowGroupBytes = 16L << 20
  private val PageBytes = 1 << 20

  /** As a [[Draft]] until it is complete; an older file of the same name is replaced. */
  def write(folder: Path, table: Table, part: Int, numbers: Range): WrittenFile = {
    val name = f"part-$part%05d.${table.extension}"
    val path = if (table.folder.isEmpty) name else s"${table.folder}/$name"
    Draft.write(folder.resolve(path)) { draft =>
      draft.toFile.deleteOnExit() // Ctrl-C and SIGTERM too
      val stream = new SummedStream(new FileOutputStream(draft.toFile))
      val rows =
        try write(table, numbers, stream)
        finally stream.close()
      val (sum, counted) = table match {
        case lines: ByteTable => (stream.crc32, lines.rows.counted)
        case _: ColumnTable =>
          ParquetFooter.sortEncodings(draft)
          (ParquetFooter.crc32(draft), Map.empty[String, Long])
      }
      WrittenFile(path, rows, Files.size(draft), f"$sum%08x", counted)
    }
  }

  /** Rows written. */
  def write(table: Table, numbers: Range, to: PositionOutputStream): Long = table match {
    case bytes: ByteTable => write(bytes.rows, numbers, to)
    case columns: ColumnTable => write(columns, numbers, to)
  }

  private def write(rows: RowWriter, numbers: Range, to: PositionOutputStream): Long = {
    val buffer = new LineBuffer(BlockBytes + (64 << 10))
    var number = numbers.from
    while (number < numbers.until) {
      rows.write(number, buffer)
      if (buffer.size >= BlockBytes) {
        to.write(buffer.array, 0, buffer.size)
        buffer.clear()
      }
      number += 1
    }
    to.write(buffer.array, 0, buffer.size)
    numbers.until - numbers.from
  }

  private def write(table: ColumnTable, numbers: Range, to: PositionOutputStream): Long = {
    val writer = new RowsBuilder(table, to)
      .withConf(new PlainParquetConfiguration())
      .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
      .withDictionaryEncoding(false)
      .withRowGroupSize(RowGroupBytes)
      .withPageSize(PageBytes)
      .build()
    var rows = 0L
    try {
      var number = numbers.from
      while (number < numbers.until) {
        val count = table.rows.count(number)
        var item = 0
        while (item < count) {
          writer.write(new RowName(number, item))
          item += 1
        }
        rows += count
        number += 1
      }
    } finally writer.close()
    rows
  }

  /** Numbers `from` until `until`. */
  final case class Range(from: Long, until: Long)
}

final private class RowName(val number: Long, val item: Int)

final private class RowsBuilder(table: ColumnTable, stream: PositionOutputStream)
    extends ParquetWriter.Builder[RowName, RowsBuilder](new StreamFile(stream)) {
  protected def self(): RowsBuilder = this
  protected def getWriteSupport(conf: Configuration): WriteSupport[RowName] = rows

  override protected def getWriteSupport(conf: ParquetConfiguration): WriteSupport[RowName] = rows

  private def rows = new RowsSupport(table.schema, table.rows)
}

final private class RowsSupport(schema: MessageType, rows: ColumnWriter)
    extends WriteSupport[RowName] {
  private var consumer: Option[RecordConsumer] = None

  override def init(conf: Configuration): WriteContext = context
  override def init(conf: ParquetConfiguration): WriteContext = context
  override def prepareForWrite(to: RecordConsumer): Unit = consumer = Some(to)

  override def write(row: RowName): Unit = consumer.foreach { to =>
    to.startMessage()
    rows.write(row.number, row.item, to)
    to.endMessage()
  }

  private def context = new WriteContext(schema, new java.util.HashMap[String, String]())
}

final private class StreamFile(stream: PositionOutputStream) extends OutputFile {
  def create(blockBytes: Long): PositionOutputStream = stream
  def createOrOverwrite(blockBytes: Long): PositionOutputStream = stream
  def supportsBlockSize(): Boolean = false
  def defaultBlockSize(): Long = 0
}
