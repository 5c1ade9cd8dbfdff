package io.hearth.sql

/** Estimates the memory of the hash tables that a shuffled hash join builds of one side. */
private[sql] object HashTable {

  /**
   * Bytes of the largest one. Data are taken to be spread as their compressed bytes are.
   *
   * @param partitions compressed bytes of each, as written
   * @param size bytes of all rows, uncompressed
   * @param advisory compressed bytes up to which adaptive execution merges partitions
   */
  def largest(partitions: Array[Long], size: BigInt, rows: BigInt, advisory: BigInt): BigInt = {
    val whole = size * Growth._1 / Growth._2 + rows * EntryBytes
    val written = partitions.map(BigInt(_)).sum
    if (written == 0) whole
    else whole * written.min(advisory).max(BigInt(partitions.max)) / written
  }

  /** Rows are kept in pages, of which the last is not full, behind their lengths and key. */
  private val Growth = 3 -> 2

  /** Of Spark's map (BytesToBytesMap): 16 bytes, at most half full, and half as much as it grows. */
  private val EntryBytes = 64
}
