package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Arrays

/** A reusable buffer in which lines are built; grows as needed. */
final class LineBuffer(capacity: Int = 1024) {
  private var bytes = new Array[Byte](capacity)
  private var used = 0

  def array: Array[Byte] = bytes
  def size: Int = used
  def clear(): Unit = used = 0

  /** Room for that many more bytes. */
  def reserve(more: Int): Unit =
    if (bytes.length - used < more)
      bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, used + more))

  def put(char: Char): Unit = {
    reserve(1)
    bytes(used) = char.toByte
    used += 1
  }

  def put(source: Array[Byte], from: Int, length: Int): Unit = {
    reserve(length)
    System.arraycopy(source, from, bytes, used, length)
    used += length
  }

  def put(ascii: Array[Byte]): Unit = put(ascii, 0, ascii.length)

  /** In decimal digits; not for negative numbers. */
  def putNumber(value: Long): Unit = {
    val digits = LineBuffer.digits(value)
    reserve(digits)
    var rest = value
    var at = used + digits
    while (at > used) {
      at -= 1
      val tenth = rest / 10
      bytes(at) = ('0' + (rest - tenth * 10)).toByte
      rest = tenth
    }
    used += digits
  }

  def putHex(value: Long, digits: Int): Unit = {
    reserve(digits)
    var at = 0
    while (at < digits) {
      bytes(used + at) = LineBuffer.Hex((value >>> (4 * (digits - 1 - at)) & 15).toInt)
      at += 1
    }
    used += digits
  }

  /** The lowest bytes of a number. */
  def putBytes(value: Long, count: Int): Unit = {
    reserve(count)
    var at = 0
    while (at < count) {
      bytes(used + at) = (value >>> (8 * at)).toByte
      at += 1
    }
    used += count
  }

  /** In the place of the last byte, the blank after a line's last word. */
  def endLine(): Unit = bytes(used - 1) = '\n'

  /** The line in the buffer, without its line end. */
  def line: String = new String(bytes, 0, used - 1, US_ASCII)
}

object LineBuffer {
  private val Hex = "0123456789abcdef".getBytes(US_ASCII)

  private def digits(value: Long): Int = {
    var count = 1
    var limit = 10L
    while (count < 19 && value >= limit) {
      count += 1
      limit *= 10
    }
    count
  }
}
