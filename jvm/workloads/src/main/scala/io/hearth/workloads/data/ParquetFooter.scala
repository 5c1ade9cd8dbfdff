package io.hearth.workloads.data

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, RandomAccessFile}
import java.lang.Integer.reverseBytes
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.util.Collections
import java.util.zip.{CRC32, CheckedInputStream}

import scala.util.Using

import org.apache.parquet.format.Util

/**
 * The footer lists each column's encodings in the order of a hash set of enumeration values, and
 * these hash by identity: another order in every JVM. Sorted, equal rows are equal bytes.
 */
object ParquetFooter {
  private val Magic = "PAR1".getBytes(US_ASCII)

  /** In place, before anybody can see the file. */
  def sortEncodings(file: Path): Unit =
    Using.resource(new RandomAccessFile(file.toFile, "rw")) { access =>
      access.seek(access.length - Magic.length - Integer.BYTES)
      val footer = new Array[Byte](reverseBytes(access.readInt()))
      val start = access.length - Magic.length - Integer.BYTES - footer.length
      access.seek(start)
      access.readFully(footer)
      val metadata = Util.readFileMetaData(new ByteArrayInputStream(footer))
      metadata.getRow_groups.forEach(
        _.getColumns.forEach(column => Collections.sort(column.getMeta_data.getEncodings))
      )
      val sorted = new ByteArrayOutputStream(footer.length)
      Util.writeFileMetaData(metadata, sorted)
      access.setLength(start)
      access.seek(start)
      access.write(sorted.toByteArray)
      access.writeInt(reverseBytes(sorted.size))
      access.write(Magic)
    }

  def crc32(file: Path): Long =
    Using.resource(new CheckedInputStream(Files.newInputStream(file), new CRC32())) { stream =>
      val block = new Array[Byte](256 << 10)
      while (stream.read(block) >= 0) ()
      stream.getChecksum.getValue
    }
}
