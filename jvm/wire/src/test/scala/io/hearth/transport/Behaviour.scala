package io.hearth.transport

import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.{ConcurrentLinkedQueue, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.Wires._

/** What a user of the wire gets, whatever carries the messages. */
abstract class Behaviour(transports: WireSettings.Transports) extends AnyFunSuite {
  private val own = settings.withTransports(transports)
  protected def transportName: String = transports.name.toLowerCase

  /** A test that can be had here; else it is skipped with the reason, or fails where it is required. */
  protected def having(name: String)(body: => Unit): Unit = test(name) {
    absent.foreach(withoutUcx)
    body
  }

  private lazy val absent: Option[String] =
    if (transports == WireSettings.Transports.TCP) None
    else
      Using.resource(Wire.open(settings, _ => ()))(wire => Option(wire.whyNoUcx).filter(_.nonEmpty))

  private def between(
      service: Service,
      server: WireSettings = own,
      client: WireSettings = own
  )(body: (Wire, Wire, Connection) => Unit): Unit =
    wires(server, client) { (serving, asking) =>
      val connection = connect(asking, serving.listen(Loopback, service))
      assert(connection.transport == transportName, connection.why)
      body(serving, asking, connection)
      connection.close()
      settled(asking, 0)
      settled(serving, 1)
    }

  having("messages of any size come back as they were sent, in both directions") {
    val random = new Random(1)
    val sizes = Vector(0, 1, 31, 511, 512, 4095, 65536, 70001, 1 << 20, (8 << 20) - 1, 8 << 20)
    wires(own, own) { (serving, asking) =>
      val back = new java.util.concurrent.CompletableFuture[Connection]
      val there: Service = request => {
        back.complete(request.connection); echo.onRequest(request)
      }
      val connection = connect(asking, serving.listen(Loopback, there), echo)
      sizes.foreach { size =>
        val sent = random.nextBytes(size)
        assert(content(ask(connection, sent)).sameElements(sent), s"$size bytes")
        assert(content(ask(back.get, sent)).sameElements(sent), s"$size bytes, back")
      }
    }
  }

  having("requests of several threads are each answered once, while their numbers wrap around") {
    between(echo) { (_, _, connection) =>
      val threads = Executors.newFixedThreadPool(4)
      val wrong = new AtomicInteger
      (0 until 4).foreach { thread =>
        threads.execute { () =>
          (0 until 500).foreach { i =>
            val sent = s"$thread $i".getBytes ++ new Array[Byte](i * 7)
            if (!content(ask(connection, sent)).sameElements(sent)) wrong.incrementAndGet()
          }
        }
      }
      threads.shutdown()
      assert(threads.awaitTermination(60, TimeUnit.SECONDS) && wrong.get == 0)
    }
  }

  having("a request that nobody answers fails in time; a late answer goes nowhere") {
    val kept = new ConcurrentLinkedQueue[Request]
    between(request => kept.add(request)) { (_, _, connection) =>
      val replies = (0 until 200).map(i => ask(connection, new Array[Byte](i), Second / 20))
      replies.foreach(reply => assert(failure(reply).kind == WireException.Kind.TIMED_OUT))
      eventually("the service knows")(kept.size == 200 && kept.asScala.forall(_.cancelled))
      kept.asScala.foreach(echo.onRequest)
    }
  }

  having("a cancelled request is told to the other side") {
    val kept = new ConcurrentLinkedQueue[Request]
    between(request => kept.add(request)) { (_, _, connection) =>
      val replies = (0 until 200).map(i => ask(connection, new Array[Byte](i * 10)))
      eventually("all are there")(kept.size == 200)
      replies.foreach(_.cancel(true))
      eventually("the service knows")(kept.asScala.forall(_.cancelled))
      kept.asScala.foreach(_.fail("too late"))
    }
  }

  having("a service that does not keep up slows its callers, and no side goes beyond its memory") {
    val limit = own.withMemory(8 << 20, 1 << 20, 1 << 20)
    val kept = new ConcurrentLinkedQueue[Request]
    between(request => kept.add(request), limit, limit) { (serving, asking, connection) =>
      val sent = new ConcurrentLinkedQueue[Reply]
      val busy = intercept[WireException] {
        while (true) sent.add(ask(connection, new Array[Byte](60000)))
      }
      assert(busy.kind == WireException.Kind.BUSY && busy.getMessage.contains("limit"))
      eventually("a window's worth has come")(kept.size == (1 << 20) / 60032)
      Thread.sleep(50)
      assert(kept.size == (1 << 20) / 60032)
      Vector(serving, asking).foreach(wire => assert(wire.counters.reservedBytes <= (8 << 20)))
      // Answers that nobody reads are held by the side that gave them, and would fill its memory.
      while (!sent.isEmpty) {
        Option(kept.poll()).foreach(echo.onRequest)
        while (!sent.isEmpty && sent.peek.isDone) assert(content(sent.poll()).length == 60000)
      }
    }
  }

  having("an Error of a service fails its request alone, and no thread ends by it") {
    noneUncaught {
      between { request =>
        if (request.data.remaining == 0) throw new UnsatisfiedLinkError("no library")
        else echo.onRequest(request)
      } { (_, _, connection) =>
        val refused = failure(ask(connection, Array.empty))
        assert(refused.kind == WireException.Kind.FAILED && refused.getMessage.contains("library"))
        assert(content(ask(connection, "x".getBytes)).sameElements("x".getBytes))
      }
    }
  }

  having("a side whose JVM has no memory outside the heap says that it is busy, and goes on") {
    Using.resource(Wire.open(own, new Heard)) { wire =>
      val (process, where) = child(transports, "-XX:MaxDirectMemorySize=2m")
      try {
        val connection = connect(wire, where)
        assert(content(ask(connection, new Array[Byte](1000))).length == 1000)
        val long =
          (1 to 4).map(_ => failure(ask(connection, new Array[Byte](6 << 20), 60 * Second)))
        assert(long.forall(_.kind == WireException.Kind.BUSY), long)
        assert(content(ask(connection, new Array[Byte](1000))).length == 1000)
        assert(process.isAlive)
      } finally process.destroyForcibly().waitFor()
    }
  }

  having("a peer that is killed in the middle of messages fails them, and leaves nothing behind") {
    val heard = new Heard
    Using.resource(Wire.open(own, heard)) { wire =>
      var before = Map.empty[String, Int]
      (0 until 4).foreach { turn =>
        val (process, where) = child(transports)
        val connection = connect(wire, where)
        val replies = (0 until 6).map(_ => ask(connection, new Array[Byte](4 << 20)))
        if (turn == 1) replies.head.get(60, TimeUnit.SECONDS).close()
        process.destroyForcibly().waitFor()
        val ends = replies
          .drop(if (turn == 1) 1 else 0)
          .map(_.handle[String] { (message, failed) =>
            Option(message).foreach(_.close())
            Option(failed).fold("")(_.getMessage)
          }.get(60, TimeUnit.SECONDS))
        assert(ends.exists(_.contains("has ended")), ends)
        settled(wire, 0)
        if (turn == 0) before = descriptors()
      }
      // What a kill has blocked is kept for a while, at each of three turns at most.
      val kept = if (heard.all.exists(_.contains("shared memory blocked"))) 3 * 12 else 0
      noMoreOpen(before, 2 + kept)
    }
  }

  having("a peer that stops is given up after the limit, with what it has not taken") {
    val clock = new Clock
    val large = new Array[Byte](4 << 20)
    Using.resource(Wire.open(own, clock, new Heard)) { wire =>
      val (process, where) = child(transports)
      try {
        val connection = connect(wire, where)
        stop(process)
        val replies = (0 until 6).map(_ => ask(connection, large, 36000 * Second))
        afterTheLimit(clock, "it is given up")(replies.head.isDone)
        assert(failure(replies.head).getMessage.contains("has read nothing for 60000 ms"))
        settled(wire, 0)
      } finally process.destroyForcibly().waitFor()
    }
  }

  having(
    "a peer that stops in the middle of a request is given up after the limit, and its memory is free"
  ) {
    val clock = new Clock
    Using.resource(Wire.open(own, clock, new Heard)) { wire =>
      val where = wire.listen(Loopback, request => request.respond(request.buffer(0)))
      val process = asker(transports, where.getPort)
      try {
        eventually("it asks")(wire.counters.buffers > 0)
        // Until it is the middle of a request where it stops.
        eventually("half a request is there") {
          stop(process)
          Thread.sleep(100) // what was under way has come
          val half = wire.counters.bufferBytes > (8 << 20)
          if (!half) signal(process, "CONT")
          half
        }
        afterTheLimit(clock, s"${wire.counters}")(isSettled(wire.counters, 1))
      } finally process.destroyForcibly().waitFor()
    }
  }

  having("a peer that takes no answers has a share of the memory, and others are answered") {
    val kept = new ConcurrentLinkedQueue[Request]
    val busy = new AtomicInteger
    val service: Service = request =>
      try {
        val answer = request.buffer(if (request.data.remaining == 0) 1 << 20 else 1)
        request.respond(answer)
      } catch { case _: WireException => busy.incrementAndGet(); kept.add(request) }
    between(service) { (serving, asking, connection) =>
      val greedy = connect(asking, connection.peer.asInstanceOf[java.net.InetSocketAddress])
      val untaken = (1 to 60).map(_ => ask(greedy, Array.empty, 60 * Second))
      eventually("its share is used up")(busy.get > 40)
      assert(serving.counters.bufferBytes < (12 << 20))
      (1 to 20).foreach(_ => assert(content(ask(connection, Array(1))).length == 1))
      untaken.foreach(_.whenComplete((message, _) => Option(message).foreach(_.close())))
      greedy.close()
      kept.asScala.foreach(_.fail("too late"))
    }
  }

  having("connections that come and go, some in the middle of a request, leave nothing") {
    wires(own, own) { (serving, asking) =>
      val where = serving.listen(
        Loopback,
        request =>
          if (request.data.get(0) == 0) echo.onRequest(request)
          else request.fail("no")
      )
      connect(asking, where).close()
      settled(asking, 0)
      val before = descriptors()
      (0 until 300).foreach { i =>
        val connection = connect(asking, where)
        val reply = ask(connection, Array.fill[Byte](1 + i * 50)((i % 2).toByte))
        if (i % 3 > 0)
          reply.handle[Unit]((m, _) => Option(m).foreach(_.close())).get(60, TimeUnit.SECONDS)
        else reply.handle[Unit]((m, _) => Option(m).foreach(_.close()))
        connection.close()
      }
      settled(asking, 0)
      settled(serving, 1)
      noMoreOpen(before, 2)
    }
  }

  having("a peer that breaks the protocol loses its connection, and nothing else happens") {
    wires(own, own) { (serving, asking) =>
      val where = serving.listen(Loopback, echo)
      // Over UCX a message for another connection is nobody's.
      (0 until (if (transports == WireSettings.Transports.TCP) 5 else 4)).foreach { way =>
        val connection = connect(asking, where)
        eventually("the server has it")(serving.tokens.size == 1)
        val frame = connection.buffer(10)
        connection.withLink { link =>
          val token = serving.tokens.get(0) + (if (way == 4) 1 else 0)
          val credit = if (way == 0) 1 << 20 else 0
          val kind = if (way == 4) Frame.Kind.REQUEST else Frame.Kind.RESPONSE
          Frame.write(frame.whole, token, 2, 10, kind, credit, 0)
          if (way == 2) frame.whole.putInt(16, 99)
          if (way == 3) frame.whole.putInt(12, -5)
          link.send(frame, java.util.List.of[FilePart]())
        }
        val ended = connection.end.get(60, TimeUnit.SECONDS).getMessage
        assert(ended.contains("has ended"), s"$way")
        settled(serving, 1)
      }
      assert(content(ask(connect(asking, where), Array(1))).length == 1)
    }
  }

  having("a side without the secret, or with another one, gets nothing to the service") {
    val asked = new AtomicInteger
    val other = Secret.of("another secret of tests".getBytes)
    Using.resource(Wire.open(own, new Heard)) { serving =>
      val where = serving.listen(Loopback, _ => asked.incrementAndGet())
      val none = WireSettings.defaults.withTransports(transports)
      Vector(none -> "secret", none.withSecret(other) -> "a different secret").foreach {
        case (wrong, word) =>
          Using.resource(Wire.open(wrong, new Heard)) { asking =>
            val refused = failure(asking.connect(where))
            assert(refused.kind == WireException.Kind.REFUSED && refused.getMessage.contains(word))
          }
      }
      settled(serving, 1)
      assert(asked.get == 0)
    }
  }
}

class TcpBehaviourTest extends Behaviour(WireSettings.Transports.TCP)

class UcxBehaviourTest extends Behaviour(WireSettings.Transports.UCX) {
  private val ucx = settings.withTransports(WireSettings.Transports.UCX)

  private def renew(wire: Wire): Unit =
    wire.agents.asScala.collect { case agent: UcxAgent => agent.run(() => agent.renew()) }

  having("its shared memory is nobody's but the user's: no segment of System V, private files") {
    wires(ucx, ucx) { (serving, asking) =>
      val connection = connect(asking, serving.listen(Loopback, echo))
      assert(content(ask(connection, new Array[Byte](1 << 20))).length == 1 << 20)
      val pid = ProcessHandle.current.pid.toString
      val segments = Files.readAllLines(Path.of("/proc/sysvipc/shm")).asScala.drop(1)
      assert(!segments.exists(_.trim.split("\\s+")(4) == pid), "cpid of `ipcs -m -p`")
      val files = links.collect { case (fd, file) if file.startsWith("/dev/shm/") => fd -> file }
      assert(files.nonEmpty, "shared memory of POSIX was used")
      files.foreach { case (fd, file) =>
        val mode = Files.getPosixFilePermissions(Path.of("/proc/self/fd", fd))
        assert(PosixFilePermissions.toString(mode) == "rw-------", file)
      }
    }
  }

  // A peer that is killed leaves the memory blocked once in some hundred times only.
  having(
    "where the shared memory is blocked, connections end with that reason; others can be made"
  ) {
    val heard = new Heard
    Using.resources(Wire.open(ucx, new Heard), Wire.open(ucx, heard)) { (serving, asking) =>
      val where = serving.listen(Loopback, _ => ())
      var before = Map.empty[String, Int]
      (0 until 20).foreach { turn =>
        val connection = connect(asking, where)
        if (turn == 4) before = descriptors() // UCX opens some of its own when it first waits
        val reply = ask(connection, new Array[Byte](100000))
        renew(asking)
        assert(
          failure(reply).getMessage.contains(
            "a peer that was killed has left UCX's shared memory blocked"
          )
        )
        settled(asking, 0)
      }
      connect(asking, where)
      noMoreOpen(before, 8)
      assert(heard.all.count(_.contains("shared memory blocked")) == 1)
    }
  }

  /** What UCX has of shared memory here, by the number under which peers open it. */
  private def segments: Set[(String, String)] =
    links.filter(_._2.contains("ucx_shm_posix")).toSet

  having(
    "a peer that has not heard of it writes to memory that is over, not to what has its number next"
  ) {
    val others = segments
    Using.resource(Wire.open(ucx, new Heard)) { serving =>
      def own = segments -- others
      var before = Set.empty[(String, String)]
      Using.resource(Wire.open(ucx, new Heard)) { asking =>
        val where = serving.listen(Loopback, echo)
        assert(content(ask(connect(asking, where), Array(1))).length == 1)
        before = own
        assert(before.nonEmpty)
        renew(asking)
        eventually("there is other memory")(own.size > before.size)
        assert(before.subsetOf(own))
        assert(content(ask(connect(asking, where), Array(1))).length == 1)
      }
      assert(before.subsetOf(own), "and after its end")
    }
  }

  having(
    "a connection that is being made while the shared memory is found blocked is made all the same"
  ) {
    wires(ucx, ucx) { (serving, asking) =>
      val where = serving.listen(Loopback, echo)
      val coming = (0 until 40).map { i =>
        if (i % 8 == 4) renew(asking)
        asking.connect(where)
      }
      coming.foreach(_.get(60, TimeUnit.SECONDS))
      assert(content(ask(connect(asking, where), Array(1))).length == 1)
    }
  }
}
