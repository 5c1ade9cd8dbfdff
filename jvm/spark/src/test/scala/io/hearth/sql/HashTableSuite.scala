package io.hearth.sql

import org.scalatest.funsuite.AnyFunSuite

class HashTableSuite extends AnyFunSuite {

  /** Of 1000 bytes in 10 rows: 1500, and 640 for the rows. */
  private val Whole = BigInt(2140)

  private def largest(partitions: Long*)(advisory: Long): BigInt =
    HashTable.largest(partitions.toArray, size = 1000, rows = 10, advisory)

  test("a table is the largest partition's part of uncompressed bytes and of rows") {
    assert(largest(25, 25, 25, 25)(advisory = 1) == Whole / 4)
    assert(largest(10, 10, 10, 70)(advisory = 1) == Whole * 7 / 10)
    assert(largest(100)(advisory = 1) == Whole)
  }

  test("partitions that may be merged count as merged, but never as more than all") {
    assert(largest(25, 25, 25, 25)(advisory = 50) == Whole / 2)
    assert(largest(25, 25, 25, 25)(advisory = 1 << 26) == Whole)
  }

  test("where nothing is known of partitions, all rows count") {
    assert(largest(0, 0)(advisory = 50) == Whole)
    assert(largest()(advisory = 50) == Whole)
  }

  test("sizes beyond a Long's are counted right") {
    val size = BigInt(Long.MaxValue)
    val partitions = Array(Long.MaxValue, Long.MaxValue)
    val found = HashTable.largest(partitions, size, rows = 0, advisory = 1)
    assert(found == size * 3 / 2 / 2)
  }
}
