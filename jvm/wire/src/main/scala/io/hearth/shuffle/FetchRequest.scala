package io.hearth.shuffle

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

/**
 * Asks for bytes of blocks, as if these lay one after the other.
 *
 * @param from of these bytes, the first that is wanted
 * @param maxBytes how many are wanted at most
 */
final private[shuffle] case class FetchRequest(
    blocks: IndexedSeq[String],
    from: Long,
    maxBytes: Int
) {

  private def names: IndexedSeq[Array[Byte]] = blocks.map(_.getBytes(UTF_8))

  def bytes: Int = FetchRequest.HeadBytes + names.map(java.lang.Short.BYTES + _.length).sum

  def write(to: ByteBuffer): Unit = {
    to.putInt(FetchRequest.Version).putLong(from).putInt(maxBytes).putInt(blocks.size)
    names.foreach(name => to.putShort(name.length.toShort).put(name))
  }
}

private[shuffle] object FetchRequest {
  private val Version = 1
  private val HeadBytes = 20

  /** Of one request: the rest is asked for by others. */
  val MaxBlocks: Int = 1024

  /** @throws IllegalArgumentException where the bytes are no request */
  def read(from: ByteBuffer): FetchRequest = {
    require(from.remaining >= HeadBytes, s"a request of ${from.remaining} bytes")
    val version = from.getInt()
    require(version == Version, s"a request of version $version; this side knows $Version")
    val (first, maxBytes, count) = (from.getLong(), from.getInt(), from.getInt())
    require(first >= 0 && maxBytes >= 0, s"a request for $maxBytes bytes from byte $first")
    require(
      count >= 1 && count <= MaxBlocks,
      s"a request for $count blocks, the limit is $MaxBlocks"
    )
    FetchRequest(Vector.fill(count)(name(from)), first, maxBytes)
  }

  private def name(from: ByteBuffer): String = {
    require(from.remaining >= java.lang.Short.BYTES, "a request that ends in the middle of a name")
    val length = java.lang.Short.toUnsignedInt(from.getShort())
    require(from.remaining >= length, "a request that ends in the middle of a name")
    val bytes = new Array[Byte](length)
    from.get(bytes)
    new String(bytes, UTF_8)
  }
}

/** An answer begins with the length of each block that was asked for; the bytes follow. */
private[shuffle] object FetchResponse {

  def headBytes(blocks: Int): Int = blocks * java.lang.Long.BYTES

  /** @throws IllegalArgumentException where the bytes are no answer about so many blocks */
  def lengths(from: ByteBuffer, blocks: Int): Array[Long] = {
    require(
      from.remaining >= headBytes(blocks),
      s"an answer of ${from.remaining} bytes to $blocks blocks"
    )
    val lengths = Array.fill(blocks)(from.getLong())
    require(lengths.forall(_ >= 0), "an answer with a length below zero")
    lengths
  }
}
