package io.hearth.transport

import java.nio.ByteBuffer

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

class BufferPoolTest extends AnyFunSuite {
  private val limit = 8L << 20

  private def all(pool: BufferPool, bytes: Int, use: BufferPool.Use): Vector[Buffer] =
    Iterator.continually(pool.take(bytes, use)).takeWhile(_.isPresent).map(_.get).toVector

  test("the limit holds, and an answer still finds memory where requests find none") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE)
    val requests = all(pool, 100000, BufferPool.Use.SEND)
    assert(pool.reservedBytes <= limit * 12 / 16 && pool.reservedBytes > limit / 2)
    val answers = all(pool, 100000, BufferPool.Use.CONTROL)
    assert(answers.nonEmpty && pool.reservedBytes <= limit)
    (requests ++ answers).foreach(_.close())
    assert(pool.usedBuffers == 0 && pool.usedBytes == 0)
  }

  test("memory of one size serves another size once it is free") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE)
    all(pool, 500, BufferPool.Use.CONTROL).foreach(_.close())
    val large = all(pool, 1 << 20, BufferPool.Use.CONTROL)
    assert(large.size == 7 && pool.reservedBytes <= limit)
  }

  test("no two buffers share a byte, and closing one twice gives it back once") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE)
    val buffers = (0 until 300).map(i => pool.take(i * 11, BufferPool.Use.SEND).get)
    buffers.zipWithIndex.foreach { case (buffer, i) =>
      val whole = buffer.whole
      while (whole.hasRemaining) whole.put(i.toByte)
    }
    buffers.zipWithIndex.foreach { case (buffer, i) =>
      val data = buffer.data
      assert(data.remaining == i * 11)
      while (data.hasRemaining) assert(data.get == i.toByte)
    }
    buffers.head.close()
    buffers.head.close()
    assert(pool.usedBuffers == 299)
    assertThrows[IllegalStateException](buffers.head.data)
  }

  test("each piece of memory is registered once, and none stays registered") {
    val registered = mutable.Set.empty[Int]
    var registrations = 0
    val pool = new BufferPool(
      limit,
      (_: ByteBuffer) => {
        registrations += 1
        val number = registrations
        registered += number
        new BufferPool.Registration { override def close(): Unit = registered -= number }
      }
    )
    (0 until 1000).foreach(_ => pool.take(1000, BufferPool.Use.SEND).get.close())
    assert(registrations == 1)
    val held = pool.take(1000, BufferPool.Use.SEND).get
    pool.close()
    assert(registered.isEmpty && pool.take(1, BufferPool.Use.CONTROL).isEmpty)
    held.close()
    assert(pool.reservedBytes == 0)
  }
}
