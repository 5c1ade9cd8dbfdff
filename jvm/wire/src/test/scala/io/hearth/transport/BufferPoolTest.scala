package io.hearth.transport

import java.nio.ByteBuffer

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

class BufferPoolTest extends AnyFunSuite {
  private val limit = 8L << 20

  private def all(pool: BufferPool, bytes: Int, use: BufferPool.Use): Vector[Buffer] =
    Iterator.continually(pool.take(bytes, use)).takeWhile(_.isPresent).map(_.get).toVector

  test("the limit holds, and an answer still finds memory where requests find none") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE, _ => ())
    val requests = all(pool, 100000, BufferPool.Use.REQUEST)
    assert(pool.reservedBytes <= limit * 12 / 16 && pool.reservedBytes > limit / 2)
    val answers = all(pool, 100000, BufferPool.Use.CONTROL)
    assert(answers.nonEmpty && pool.reservedBytes <= limit)
    (requests ++ answers).foreach(_.close())
    assert(pool.usedBuffers == 0 && pool.usedBytes == 0)
  }

  test("memory of one size serves another size once it is free") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE, _ => ())
    all(pool, 500, BufferPool.Use.CONTROL).foreach(_.close())
    val large = all(pool, 1 << 20, BufferPool.Use.CONTROL)
    assert(large.size == 7 && pool.reservedBytes <= limit)
  }

  test("no two buffers share a byte, and closing one twice gives it back once") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE, _ => ())
    val buffers = (0 until 300).map(i => pool.take(i * 11, BufferPool.Use.REQUEST).get)
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
      },
      _ => ()
    )
    (0 until 1000).foreach(_ => pool.take(1000, BufferPool.Use.REQUEST).get.close())
    assert(registrations == 2) // one is of the reserve
    val held = pool.take(1000, BufferPool.Use.REQUEST).get
    pool.close()
    assert(registered.isEmpty && pool.take(1, BufferPool.Use.CONTROL).isEmpty)
    held.close()
    assert(pool.reservedBytes == 0)
  }

  test("where the JVM has no memory it is said, nothing is waited for, and short messages go on") {
    var good = 1
    val said = mutable.Buffer.empty[String]
    val registrar: BufferPool.Registrar = _ => {
      good -= 1
      if (good < 0) throw new OutOfMemoryError("none is left")
      new BufferPool.Registration {}
    }
    val pool = new BufferPool(limit, registrar, said += _)
    assert(!pool.lacks && pool.take(100000, BufferPool.Use.REQUEST).isEmpty && pool.lacks)
    assert(said.size == 1 && said.head.contains("none is left"))
    assert(pool.take(1 << 20, BufferPool.Use.CONTROL).isEmpty && said.size == 1)
    val short = all(pool, 100, BufferPool.Use.CONTROL)
    assert(short.size > 100)
    short.foreach(_.close())
    assert(pool.usedBytes == 0)
  }

  test("one share ends where others still find memory, and has room for one buffer of any size") {
    val pool = new BufferPool(limit, BufferPool.Registrar.NONE, _ => ())
    val share = new BufferPool.Share(1 << 20)
    def take(bytes: Int) = pool.take(bytes, BufferPool.Use.ANSWER, share)
    val some = Iterator.continually(take(100000)).takeWhile(_.isPresent).map(_.get).toVector
    assert(some.size == 7 && pool.take(100000, BufferPool.Use.ANSWER).isPresent)
    some.foreach(_.close())
    val long = take(3 << 20).get
    assert(take(1).isEmpty)
    long.close()
    assert(take(1).isPresent)
  }
}
