package io.hearth.transport

import java.net.{InetSocketAddress, Socket, SocketTimeoutException}
import java.nio.file.{Files, Path}
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.{Failure, Random, Try, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.Wires._

class WireTest extends AnyFunSuite {
  private val tcp = settings.withTransports(WireSettings.Transports.TCP)

  /** What a stranger gets back before the connection is closed. */
  private def stranger(where: InetSocketAddress, sends: Array[Byte]): Int =
    Using.resource(new Socket(where.getAddress, where.getPort)) { socket =>
      socket.setSoTimeout(60000)
      Try(socket.getOutputStream.write(sends))
      Try(socket.getInputStream.readAllBytes.length).getOrElse(0)
    }

  test("strangers' garbage is closed at once and said once, and users go on") {
    val heard = new Heard
    val random = new Random(3)
    Using.resources(Wire.open(tcp, heard), Wire.open(tcp, new Heard)) { (serving, asking) =>
      val where = serving.listen(Loopback, echo)
      val connection = connect(asking, where)
      val begun = Array[Byte](0, 27, 'H') ++ "HRTHWIRE".getBytes
      val garbage = Vector(
        "GET / HTTP/1.1\r\n\r\n".getBytes,
        Array.fill[Byte](9000)(-1),
        Array[Byte](0, 27, 'H') ++ new Array[Byte](26),
        Array[Byte](0, 27, 'X')
      ) ++
        Vector.fill(30)(random.nextBytes(1 + random.nextInt(5000)))
      garbage.foreach(bytes => assert(stranger(where, bytes) == 0))
      Using.resource(new Socket(where.getAddress, where.getPort))(_.getOutputStream.write(begun))
      assert(content(ask(connection, "still".getBytes)).sameElements("still".getBytes))
      eventually("they are gone")(
        serving.counters.pendingHandshakes == 0 && serving.counters.sockets == 2
      )
      assert(
        heard.all.size == 1 && heard.all.head.contains("something other than a greeting"),
        heard.all
      )
    }
  }

  test("a broken handshake behind a good greeting is closed") {
    Using.resource(Wire.open(tcp, new Heard)) { serving =>
      val where = serving.listen(Loopback, echo)
      val random = new Random(5)
      val hello = new Handshake(tcp).hello
      val greeting = Array[Byte](0, hello.length.toByte) ++ hello
      (0 until 20).foreach(_ =>
        assert(stranger(where, greeting ++ random.nextBytes(5000)) <= 29 + 302)
      )
      assert(stranger(where, greeting ++ Array[Byte](0, 1, 'P')) <= 29 + 302)
      settled(serving, 1)
    }
  }

  test("half-open connections are few, and closed when their time is over") {
    val strict = tcp.withLimits(new WireSettings.Limits(64, 64, Minute, Minute, 8))
    val clock = new Clock
    Using.resource(Wire.open(strict, clock, new Heard)) { serving =>
      val where = serving.listen(Loopback, echo)
      val open = (0 until 40).map(_ => new Socket(where.getAddress, where.getPort))
      eventually("the last eight are left")(
        open.count(
          isOpen
        ) == 8 && serving.counters.sockets == 9 && serving.counters.pendingHandshakes == 8
      )
      clock.skip(61)
      settled(serving, 1)
      open.foreach(_.close())
    }
  }

  private def isOpen(client: Socket): Boolean = {
    client.setSoTimeout(1)
    Try(client.getInputStream.read()) match {
      case Failure(_: SocketTimeoutException) => true
      case said => said.toOption.exists(_ >= 0)
    }
  }

  test("it listens where it was told and nowhere else") {
    def listening: Set[String] = {
      val inodes = links.values.collect { case s"socket:[$inode]" => inode }.toSet
      Vector("tcp", "tcp6")
        .flatMap { table =>
          Files
            .readAllLines(Path.of(s"/proc/self/net/$table"))
            .asScala
            .drop(1)
            .map(_.trim.split("\\s+"))
        }
        .collect { case row if row(3) == "0A" && inodes(row(9)) => row(1) }
        .toSet
    }
    val before = listening
    Using.resource(Wire.open(settings, new Heard)) { serving =>
      assert(listening == before)
      val where = serving.listen(Loopback, echo)
      val added = listening -- before
      assert(added.size == 1 && added.head.endsWith(f":${where.getPort}%04X"), added)
      assert(added.head.contains("0100007F"))
    }
  }

  test("a peer without UCX is reached by TCP, and the reason is said") {
    val heard = new Heard
    Using.resources(Wire.open(settings, heard), Wire.open(tcp, new Heard)) { (serving, asking) =>
      val connection = connect(asking, serving.listen(Loopback, echo))
      assert(connection.transport == "tcp" && connection.why.contains("TCP was asked for"))
      assert(content(ask(connection, Array(1))).length == 1)
      assert(heard.all.exists(_.contains("messages go over TCP")))
    }
  }

  /** What [[Alone]] says in a JVM of its own, and how that ends. */
  private def alone(
      transports: String,
      options: Seq[String] = Nil,
      path: String = sys.props("java.class.path"),
      environment: Map[String, String] = Map.empty
  ): (Int, String) = {
    val java = s"${sys.props("java.home")}/bin/java" +: options
    val words = java ++ Seq("-cp", path, "io.hearth.transport.Alone", transports)
    val builder = new ProcessBuilder(words: _*).redirectErrorStream(true)
    environment.foreach { case (name, value) => builder.environment.put(name, value) }
    val process = builder.start()
    val said = new String(process.getInputStream.readAllBytes)
    (process.waitFor(), said)
  }

  private def needsUcx(): Unit =
    Using.resource(Wire.open(settings, _ => ()))(wire =>
      assume(wire.whyNoUcx.isEmpty, wire.whyNoUcx)
    )

  test("without jucx messages go over TCP with the reason, or nowhere where UCX must be used") {
    val without =
      sys.props("java.class.path").split(':').filterNot(_.contains("jucx")).mkString(":")
    val (fine, said) = alone("ANY", path = without)
    assert(fine == 0 && said.contains("tcp, jucx is not on the class path"), said)
    val (refused, because) = alone("UCX", path = without)
    assert(refused == 1 && because.contains("UCX was requested but is unavailable: jucx"), because)
  }

  test("where jucx's jar has no library for the processor, the one of LD_LIBRARY_PATH is used") {
    val directory = Files.createTempDirectory("hearth-jucx")
    val libraries = Map("LD_LIBRARY_PATH" -> directory.toString)
    def run() = alone("ANY", Seq("-Dos.arch=aarch64"), environment = libraries)._2
    val without = run()
    val reason =
      "tcp, jucx's jar has no library for aarch64: install UCX, and put libjucx_aarch64.so"
    assert(without.contains(reason), without)
    needsUcx()
    val library = directory.resolve("libjucx_aarch64.so")
    Using.resource(getClass.getResourceAsStream("/libjucx_amd64.so"))(Files.copy(_, library))
    val there = run()
    assert(there.contains("ucx, "), there)
    Files.delete(library)
    Files.delete(directory)
  }

  test("UCX uses the adapter that affinity has chosen, and any where it has chosen none") {
    assert(Ucx.derived(true, "mlx5_0:1").get("NET_DEVICES") == "mlx5_0:1")
    assert(!Ucx.derived(true, "").containsKey("NET_DEVICES"))
    assert(!Ucx.derived(false, "mlx5_0:1").containsKey("NET_DEVICES"))
  }

  test("what the user tells UCX in the environment wins over what the wire derives") {
    needsUcx()
    val (code, said) = alone("ANY", environment = Map("UCX_TLS" -> "no_such_transport"))
    assert(code == 0 && said.contains("tcp, UCX has no transport of 'no_such_transport'"), said)
  }

  test("deadlines are those of the clock that was given; no round of an agent waits") {
    var nowNs = 0L
    val serving = Wire.prepare(tcp, () => nowNs, new Heard)
    val asking = Wire.prepare(tcp, () => nowNs, new Heard)
    val agents = serving.agents.asScala ++ asking.agents.asScala
    def until(check: => Boolean): Unit = {
      var rounds = 0
      while (!check) {
        agents.foreach(_.doWork())
        rounds += 1
        assert(rounds < 100000)
      }
    }
    val opening = asking.connect(serving.listen(Loopback, _ => ()))
    until(opening.isDone)
    val reply = ask(opening.get, Array(1), 3600 * Second)
    (0 until 1000).foreach(_ => agents.foreach(_.doWork()))
    assert(!reply.isDone)
    nowNs += 3601 * Second
    until(reply.isDone)
    assert(failure(reply).kind == WireException.Kind.TIMED_OUT)
    agents.foreach(_.shutDown())
  }

  test("whom UCX does not reach within its limit is served over TCP for as long as he likes") {
    var nowNs = 0L
    val serving = Wire.prepare(settings, () => nowNs, new Heard)
    val asking = Wire.prepare(settings, () => nowNs, new Heard)
    if (serving.whyNoUcx.nonEmpty) withoutUcx(serving.whyNoUcx)
    val (ucx, tcp) = (serving.agents.get(0), serving.agents.get(1))
    val asked = asking.agents.asScala.toVector
    val ucxThread = Executors.newSingleThreadExecutor
    def onUcxThread(work: => Unit): Unit = ucxThread.submit((() => work): Runnable).get
    def rounds(withUcx: Boolean, others: Seq[Agent]): Unit = (0 until 1000).foreach { _ =>
      if (withUcx) onUcxThread { ucx.doWork(); () }
      others.foreach(_.doWork())
    }
    val opening = asking.connect(serving.listen(Loopback, echo))
    rounds(withUcx = true, tcp +: asked.tail) // until the client's turn has come to ask over UCX
    rounds(withUcx = false, tcp +: asked) // which the server does not answer
    nowNs += 6 * Second
    rounds(withUcx = false, tcp +: asked)
    val connection = opening.getNow(null)
    assert(connection.transport == "tcp" && connection.why.contains("no answer to a probe"))
    (0 until 3).foreach { turn =>
      val reply = ask(connection, Array[Byte](turn.toByte), 3600 * Second)
      rounds(withUcx = true, tcp +: asked)
      assert(content(reply).sameElements(Array[Byte](turn.toByte)))
    }
    onUcxThread(ucx.shutDown())
    ucxThread.shutdown()
    (tcp +: asked).foreach(_.shutDown())
  }

  test("what is asked of a wire while it ends opens nothing, and is answered") {
    val wire = Wire.prepare(settings, () => System.nanoTime, new Heard)
    val agents = wire.agents.asScala.toVector
    agents.foreach(_.doWork()) // so they are this thread's
    val listener = new java.net.ServerSocket(0, 1, Loopback.getAddress)
    var served = Option.empty[String]
    // Handed over by another thread, and first looked at when the agents end.
    val opening = onAnotherThread {
      agents.collect { case ucx: EndpointAgent =>
        val parameters =
          new Connection.ConnectionParameters(Loopback, 1, 2, 1 << 20, 1 << 20, "ucx", "")
        ucx.run(() => served = ucx.serve(parameters, ucx.address, Service.NONE, () => ()).toScala)
      }
      wire.connect(listener.getLocalSocketAddress.asInstanceOf[InetSocketAddress])
    }
    agents.foreach(_.shutDown())
    listener.close()
    assert(failure(opening).getMessage.contains("this side has ended"))
    if (wire.whyNoUcx.isEmpty) assert(served.contains("this side has ended"))
    assert(wire.counters.endpoints == 0)
    // A greeting that is given up later has no endpoint to close, which UCX's memory is gone for.
    agents.collect { case ucx: EndpointAgent => ucx.drop(1, "it took too long") }
  }

  test("a fault of a thread is told once and ends its connections; the wire goes on") {
    @volatile var faults = 0
    val faulty: IdleStrategy = (agent, rounds) => {
      if (faults > 0) { faults -= 1; throw new NoClassDefFoundError("a/class/of/tests") }
      Idling.EVENT.idle(agent, rounds)
    }
    val heard = new Heard
    noneUncaught {
      Using.resource(Wire.open(tcp.withIdling(faulty), heard)) { serving =>
        val where = serving.listen(Loopback, echo)
        Using.resource(Wire.open(tcp, new Heard)) { asking =>
          for (_ <- 1 to 2) {
            val first = connect(asking, where)
            assert(content(ask(first, Array(1))).length == 1)
            faults = 1
            ask(first, Array(1))
            first.end.get(60, java.util.concurrent.TimeUnit.SECONDS)
          }
          assert(content(ask(connect(asking, where), Array(1))).length == 1)
          assert(heard.all.count(_.contains("a/class/of/tests")) == 1, heard.all)
          // One that does not stop is no reason for a busy thread.
          faults = Int.MaxValue
          eventually("it ends")(Try(connect(asking, where)).isFailure)
        }
      }
    }
  }

  private def onAnotherThread[A](work: => A): A = {
    val executor = Executors.newSingleThreadExecutor
    try executor.submit((() => work): Callable[A]).get
    finally executor.shutdown()
  }

  test("its threads are named as communication threads, and end with it") {
    def names =
      Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.startsWith("hearth-wire-"))
    val wire = Wire.open(tcp, new Heard)
    eventually("a thread is there")(names.contains("hearth-wire-tcp"))
    wire.close()
    assert(names.isEmpty)
  }

  test("a key file that others may read is refused, and so is a short secret") {
    val file = Files.createTempFile("hearth-key", "")
    Files.writeString(file, "0123456789abcdef\n")
    Files.setPosixFilePermissions(
      file,
      java.nio.file.attribute.PosixFilePermissions.fromString("rw-r-----")
    )
    assert(intercept[java.io.IOException](Secret.read(file)).getMessage.contains("chmod 600"))
    Files.setPosixFilePermissions(
      file,
      java.nio.file.attribute.PosixFilePermissions.fromString("rw-------")
    )
    assert(Secret.read(file).toString == "Secret(hidden)")
    Files.delete(file)
    assertThrows[IllegalArgumentException](Secret.of("short".getBytes))
  }
}

/** A wire that talks to itself; its class path may lack jucx. */
object Alone {
  def main(args: Array[String]): Unit =
    try
      Using.resource(
        Wire.open(settings.withTransports(WireSettings.Transports.valueOf(args(0))), _ => ())
      ) { wire =>
        val connection = connect(wire, wire.listen(Loopback, echo))
        content(ask(connection, Array(1)))
        println(s"${connection.transport}, ${connection.why}")
      }
    catch {
      case refused: WireException =>
        println(refused.getMessage)
        sys.exit(1)
    }
}
