package io.hearth.transport

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}
import java.util.concurrent.{ConcurrentLinkedQueue, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.Wires._

/** Answers that go on in files, which TCP sends as they are. */
class FilePartTest extends AnyFunSuite with BeforeAndAfterAll {
  private val tcp = settings.withTransports(WireSettings.Transports.TCP)
  private val random = new Random(5)
  private val bytes = random.nextBytes(6 << 20)
  private val file = Files.createTempFile("hearth-parts", "")

  override def beforeAll(): Unit = {
    Files.write(file, bytes)
    ()
  }

  override def afterAll(): Unit = Files.delete(file)

  /** By the servers, so far. */
  private val opened = new ConcurrentLinkedQueue[FileChannel]

  private def part(of: Path, from: Int, count: Int): FilePart = {
    val channel = FileChannel.open(of, StandardOpenOption.READ)
    opened.add(channel)
    new FilePart(channel, from.toLong, count)
  }

  /** Answers pairs of numbers, from and count, with themselves and with these bytes of a file. */
  private def parts(of: Path): Service = request => {
    val asked = request.data()
    val head = request.connection.buffer(asked.remaining)
    head.data.put(asked.duplicate())
    assert(request.connection.sendsFiles)
    val files =
      Iterator.continually(asked).takeWhile(_.hasRemaining).map(p => part(of, p.getInt, p.getInt))
    request.respond(head, files.toSeq.asJava)
  }

  private def written(ranges: Seq[(Int, Int)]): Array[Byte] = {
    val to = ByteBuffer.allocate(8 * ranges.size)
    ranges.foreach { case (from, count) => to.putInt(from).putInt(count) }
    to.array
  }

  private def answer(ranges: Seq[(Int, Int)]): Array[Byte] =
    written(ranges) ++ ranges.flatMap { case (from, count) => bytes.slice(from, from + count) }

  private def between(service: Service)(body: (Wire, Wire, Connection) => Unit): Unit =
    wires(tcp, tcp) { (serving, asking) =>
      body(serving, asking, connect(asking, serving.listen(Loopback, service)))
      settled(asking, 0)
      settled(serving, 1)
    }

  test("parts of files come behind an answer's own bytes, among answers without") {
    between(parts(file)) { (_, _, connection) =>
      val asked = Vector.fill(200)(Vector.fill(random.nextInt(4)) {
        val from = random.nextInt(bytes.length)
        from -> random.nextInt(math.min(1 << 20, bytes.length - from))
      })
      val replies = asked.map(ranges => ask(connection, written(ranges), 60 * Second))
      for ((reply, ranges) <- replies.zip(asked))
        assert(content(reply).sameElements(answer(ranges)))
      connection.close()
    }
    assert(opened.asScala.forall(!_.isOpen))
  }

  test("a file that becomes shorter while it is sent ends the connection, which says so") {
    val short = Files.write(Files.createTempFile("hearth-short", ""), bytes)
    val cut: Service = request => {
      val files = Seq(part(short, 0, bytes.length))
      Using.resource(FileChannel.open(short, StandardOpenOption.WRITE))(_.truncate(1 << 20))
      request.respond(request.connection.buffer(0), files.asJava)
    }
    between(cut) { (_, _, connection) =>
      assert(failure(ask(connection, Array(1))).kind == WireException.Kind.LOST)
      assert(connection.end.get(60, TimeUnit.SECONDS) != null)
    }
    Files.delete(short)
  }

  test("who gives answers up, or goes, leaves no file of theirs open") {
    for (turn <- 1 to 10) {
      opened.clear()
      between(parts(file)) { (_, _, connection) =>
        val replies =
          Vector.fill(20)(ask(connection, written(Seq(0 -> (2 << 20))), 60 * Second))
        // One that is not closed keeps those behind it waiting.
        val first = replies.head.get(60, TimeUnit.SECONDS)
        eventually("all are answered")(opened.size == 20)
        assert(opened.asScala.exists(_.isOpen), "answers wait for room")
        if (turn % 2 == 0) replies.foreach(_.cancel(true))
        replies.foreach(_.whenComplete((message, _) => Option(message).foreach(_.close())))
        first.close()
        connection.close()
        eventually("all files are closed")(opened.asScala.forall(!_.isOpen))
      }
    }
  }

  test("parts that are longer than a message fail the request alone, with the reason") {
    between(parts(file)) { (_, _, connection) =>
      val long = failure(ask(connection, written(Seq(0 -> (6 << 20), 0 -> (6 << 20)))))
      assert(long.kind == WireException.Kind.FAILED)
      assert(long.getMessage.contains(s"over tcp it has ${8 << 20} at most"), long.getMessage)
      assert(content(ask(connection, written(Nil))).isEmpty)
      connection.close()
    }
    assert(opened.asScala.forall(!_.isOpen))
  }
}
