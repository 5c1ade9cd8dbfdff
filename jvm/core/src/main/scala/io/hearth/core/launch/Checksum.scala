package io.hearth.core.launch

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.zip.CRC32

import scala.util.Using

import io.hearth.core.files.OwnFiles

/**
 * Size and CRC-32 of a file in a file beside it: enough against a disk that was full, a process that was
 * killed and bits that flipped, and checked in 50 ms for 100 MB.
 */
private[launch] object Checksum {

  def fileOf(file: Path): Path = file.resolveSibling(s"${file.getFileName}.sum")

  /** Writes the checksum of `content`, whose final name is `file`. */
  def write(content: Path, file: Path): Unit = {
    val partial = content.resolveSibling(s"${content.getFileName}.sum")
    OwnFiles.replace(fileOf(file), partial) {
      Files.writeString(partial, of(content))
      ()
    }
  }

  /** Whether the file exists and has not changed since its checksum was written. */
  def matches(file: Path): Boolean =
    try Files.isRegularFile(file) && Files.readString(fileOf(file)) == of(file)
    catch { case _: IOException => false }

  private def of(file: Path): String = Using.resource(Files.newInputStream(file)) { in =>
    val sum = new CRC32
    val buffer = new Array[Byte](1 << 20)
    Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach(n => sum.update(buffer, 0, n))
    f"${Files.size(file)} ${sum.getValue}%08x\n"
  }
}
