package io.hearth.shuffle

import java.nio.ByteBuffer
import java.nio.file.{Files, StandardOpenOption}
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, Executor}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.{Request, Service, WireException}

class BlockFetchSuite extends AnyFunSuite {
  private val Second = 1000L * 1000 * 1000

  private def assertAll(exchange: Exchange, landed: Exchange.Landed): Unit = {
    assert(landed.missing.isEmpty && landed.twice.isEmpty)
    for ((block, i) <- exchange.blocks.zipWithIndex)
      assert(landed.arrived.get(block) == exchange.expected(i), block)
  }

  test("blocks of any lengths arrive as they are in the file, however the pieces fall") {
    val dice = new Random(11)
    for (round <- 1 to 12) {
      val sizes = Vector.fill(1 + dice.nextInt(40))(dice.nextInt(3) match {
        case 0 => 0
        case 1 => 1 + dice.nextInt(40)
        case _ => dice.nextInt(20000)
      })
      val chunk = 8 * sizes.size + 1 + dice.nextInt(5000)
      val limits = BlockFetch.Limits(chunk, 1 + round % 4, 10 * Second)
      val retained = if (round % 2 == 0) 0L else Exchange.MemoryBytes / 2
      Using.resource(new Exchange(sizes, limits, keptBytes = retained)) { exchange =>
        val landed = exchange.fetch()
        assertAll(exchange, landed)
        assert(landed.copies.get > 0 == (retained == 0 && sizes.sum > 0) && landed.open.get == 0)
        exchange.allMemoryIsBack()
      }
    }
  }

  test("of blocks that nobody reads yet some keep the wire's memory, and the rest is copied") {
    val limits = BlockFetch.Limits(1 << 20, 4, 20 * Second)
    Using.resource(new Exchange(Vector.fill(20)(1 << 20), limits)) { exchange =>
      val unread = new ConcurrentLinkedQueue[IndexedSeq[Chunk]]
      val sink = new Exchange.Landed {
        override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit = {
          unread.add(chunks)
          super.arrived(block, chunks.map(chunk => Chunk(chunk.bytes.duplicate(), () => ())))
        }
      }
      assertAll(exchange, exchange.fetch(sink = sink))
      assert(sink.copies.get > 0 && exchange.client.counters.buffers > 0)
      assertAll(exchange, exchange.fetch())
      unread.forEach(_.foreach(_.free()))
      assert(sink.open.get == 0)
      exchange.allMemoryIsBack()
    }
  }

  test("a block longer than the wire's memory arrives, and what was carried is counted") {
    val sizes = Vector(40 << 20, 10)
    Using.resource(new Exchange(sizes, BlockFetch.Limits(1 << 20, 4, 20 * Second))) { exchange =>
      assertAll(exchange, exchange.fetch())
      assert(exchange.traffic.servedBytes.sum == sizes.sum)
      assert(exchange.traffic.fetchedBytes("tcp").sum == sizes.sum)
      assert(
        exchange.traffic.fetchedBlocks("tcp").sum == 2 && exchange.traffic
          .fetchedBytes("ucx")
          .sum == 0
      )
      exchange.allMemoryIsBack()
    }
  }

  test("many fetches at once that want more memory than there is wait for each other") {
    val limits = BlockFetch.Limits(1 << 20, 16, 20 * Second)
    Using.resource(new Exchange(Vector.fill(4)(8 << 20), limits)) { exchange =>
      val landings = Vector.fill(6)(new Exchange.Landed)
      exchange.connection
      val threads =
        landings.map(sink => new Thread(() => { exchange.fetch(sink = sink); () }))
      threads.foreach(_.start())
      threads.foreach(_.join())
      landings.foreach(assertAll(exchange, _))
    }
  }

  test("a block that is not there fails all of its request, in one line") {
    Using.resource(new Exchange(Vector(10, 20))) { exchange =>
      val landed = exchange.fetch(exchange.blocks :+ "shuffle_9_9_9")
      assert(landed.arrived.isEmpty && landed.missing.size == 3)
      assert(landed.reasons == Set("there is no shuffle_9_9_9"))
      assertAll(exchange, exchange.fetch())
    }
  }

  test("a file that was cut fails what has not arrived, and memory is given back") {
    Using.resource(new Exchange(Vector(1000, 300000))) { exchange =>
      Using.resource(Files.newByteChannel(exchange.file, StandardOpenOption.WRITE))(
        _.truncate(200000)
      )
      val landed = exchange.fetch()
      assert(landed.arrived.keySet.asScala == Set(exchange.blocks(0)))
      assert(landed.missing.keySet.asScala == Set(exchange.blocks(1)))
      assert(landed.reasons.head.contains("ends before byte"))
      exchange.allMemoryIsBack()
    }
  }

  test("where the peer dies in the middle each block has arrived or failed, once") {
    val limits = BlockFetch.Limits(1 << 16, 3, 20 * Second)
    Using.resource(new Exchange(Vector.fill(20)(1 << 20), limits)) { exchange =>
      val seen = new AtomicInteger
      val sink = new Exchange.Landed {
        override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit = {
          if (seen.incrementAndGet() == 5) exchange.server.close()
          super.arrived(block, chunks)
        }
      }
      exchange.fetch(sink = sink)
      assert(sink.twice.isEmpty)
      assert(sink.arrived.size + sink.missing.size == 20 && sink.missing.size > 0)
      assert(sink.open.get == 0)
      exchange.allMemoryIsBack()
      for ((block, i) <- exchange.blocks.zipWithIndex if sink.arrived.containsKey(block))
        assert(sink.arrived.get(block) == exchange.expected(i))
    }
  }

  test("no memory for a block fails with the error that Spark waits on") {
    val limits = BlockFetch.Limits(200, 1, 10 * Second)
    Using.resource(new Exchange(Vector(10, 0, 999), limits, keptBytes = 0)) { exchange =>
      val sink = new Exchange.Landed {
        override def room(bytes: Int): Chunk =
          if (copies.get == 3) throw new OutOfMemoryError("no direct memory")
          else super.room(bytes)
      }
      exchange.fetch(sink = sink)
      assert(sink.arrived.size == 2 && sink.missing.keySet.asScala == Set("shuffle_0_2_0"))
      assert(sink.missing.get("shuffle_0_2_0").isInstanceOf[OutOfMemoryError])
      assert(sink.open.get == 0)
      exchange.allMemoryIsBack()
    }
  }

  test("an Error at one block fails that block, and leaves alone what the others' reader has") {
    Using.resource(new Exchange(Vector(50000, 7, 50000))) { exchange =>
      val unread = new ConcurrentLinkedQueue[IndexedSeq[Chunk]]
      val sink = new Exchange.Landed {
        override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit = {
          if (block == exchange.blocks(1)) {
            chunks.foreach(_.free())
            throw new NoClassDefFoundError("a/class/of/tests")
          }
          unread.add(chunks)
          super.arrived(block, chunks.map(chunk => Chunk(chunk.bytes.duplicate(), () => ())))
        }
      }
      exchange.fetch(sink = sink)
      assert(sink.missing.keySet.asScala.contains(exchange.blocks(1)))
      assert(sink.missing.get(exchange.blocks(1)).isInstanceOf[NoClassDefFoundError])
      assert(sink.arrived.containsKey(exchange.blocks(0)) && sink.twice.isEmpty)
      (1 to 5).foreach(_ => exchange.fetch(exchange.blocks.drop(2))) // into memory that is free
      val first = unread.peek
      val content = ByteBuffer.allocate(50000)
      first.foreach(chunk => content.put(chunk.bytes.duplicate()))
      assert(content.array.toSeq == exchange.expected(0))
      unread.forEach(_.foreach(_.free()))
      exchange.allMemoryIsBack()
    }
  }

  test(
    "a worker is asked for copies alone; where there is none, or asking for more ends in an Error, no block is forgotten"
  ) {
    val limits = BlockFetch.Limits(20000, 2, 10 * Second)
    val asked = new AtomicInteger
    val queued = new ConcurrentLinkedQueue[Runnable]
    val noThreads: Executor = work => {
      asked.incrementAndGet()
      queued.add(work)
      throw new OutOfMemoryError("unable to create native thread")
    }
    Using.resource(new Exchange(Vector(50000, 7), limits, keptBytes = 0)) { exchange =>
      assertAll(exchange, exchange.fetch(workers = Some(noThreads)))
      assert(asked.getAndSet(0) > 0)
      queued.forEach(_.run())
      assertAll(exchange, exchange.fetch())
      exchange.allMemoryIsBack()
    }
    Using.resource(new Exchange(Vector(50000, 7), limits)) { exchange =>
      assertAll(exchange, exchange.fetch(workers = Some(noThreads)))
      assert(asked.get == 0)
      val landed = exchange.fetch(new BlockFetchSuite.SlicedOnce(exchange.blocks))
      assert(
        landed.missing.size == 2 && landed.missing.values.asScala
          .forall(_.isInstanceOf[LinkageError])
      )
      exchange.allMemoryIsBack()
    }
  }

  test("a peer that does not answer in time fails the fetch") {
    val silent: Service = (_: Request) => ()
    val limits = BlockFetch.Limits(1 << 16, 1, Second / 5)
    Using.resource(new Exchange(Vector(10), limits, Some(silent))) { exchange =>
      val kinds =
        exchange.fetch().missing.values.asScala.collect { case why: WireException => why.kind }
      assert(kinds.toSeq == Seq(WireException.Kind.TIMED_OUT))
    }
  }

  test("answers that cannot be true fail the fetch") {
    val lies = Seq[(Array[Byte], String)](
      Array[Byte](1, 2) -> "an answer of 2 bytes to 1 blocks",
      ByteBuffer.allocate(8).putLong(-1).array -> "a length below zero",
      ByteBuffer.allocate(12).putLong(3).array -> "an answer of 4 bytes in place of 3",
      ByteBuffer.allocate(8).putLong(1L << 40).array -> "more than memory for one block"
    )
    for ((lie, expected) <- lies) {
      val service: Service = request => {
        val answer = request.connection.buffer(lie.length)
        answer.data.put(lie)
        request.respond(answer)
      }
      Using.resource(new Exchange(Vector(3), service = Some(service))) { exchange =>
        assert(exchange.fetch().reasons.head.contains(expected))
      }
    }
  }

  test("a block whose length changes between two answers fails") {
    val asked = new AtomicInteger
    val service: Service = request => {
      val fetch = FetchRequest.read(request.data())
      val answer = request.connection.buffer(8 + fetch.maxBytes)
      answer.data.putLong(if (asked.incrementAndGet() == 1) 10 * fetch.maxBytes.toLong else 1L)
      request.respond(answer)
    }
    Using.resource(new Exchange(Vector(3), service = Some(service))) { exchange =>
      assert(
        exchange.fetch().reasons == Set(
          "requirement failed: an answer with different lengths than before: a block has changed"
        )
      )
    }
  }

  test("garbage in place of a request is refused, and the wire goes on") {
    val dice = new Random(3)
    Using.resource(new Exchange(Vector(100))) { exchange =>
      for (length <- Seq(0, 1, 19, 20, 23, 40, 400)) {
        val buffer = exchange.connection.buffer(length)
        buffer.data.put(dice.nextBytes(length))
        val failure =
          intercept[ExecutionException](exchange.connection.request(buffer, 10 * Second).get())
        assert(failure.getCause.asInstanceOf[WireException].kind == WireException.Kind.FAILED)
      }
      assertAll(exchange, exchange.fetch())
    }
  }
}

object BlockFetchSuite {

  /** Of these blocks a part is named once; then the JVM misses a class. */
  final private class SlicedOnce(blocks: IndexedSeq[String])
      extends scala.collection.immutable.AbstractSeq[String]
      with IndexedSeq[String] {
    private val slices = new AtomicInteger
    override def apply(i: Int): String = blocks(i)
    override def length: Int = blocks.length
    override def slice(from: Int, until: Int): IndexedSeq[String] =
      if (slices.incrementAndGet() > 1) throw new LinkageError("a class is missing")
      else blocks.slice(from, until)
  }
}
