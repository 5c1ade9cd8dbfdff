package io.hearth.transport

import java.net.InetSocketAddress
import java.nio.file.{Files, Path}
import java.time.Duration
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, TimeUnit}
import java.util.concurrent.atomic.AtomicLong
import java.util.function.LongSupplier

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.Assertions

/** Two sides in this JVM, or one of them in a JVM of its own. */
object Wires extends Assertions {
  val Second: Long = 1000000000L
  val Key: Secret = Secret.of("a secret of tests".getBytes)
  val Minute: Duration = Duration.ofMinutes(1)
  val Loopback = new InetSocketAddress("127.0.0.1", 0)

  val settings: WireSettings = WireSettings.defaults
    .withSecret(Key)
    .withMemory(64 << 20, 1 << 20, 8 << 20)
    .withLimits(new WireSettings.Limits(4096, 1024, Minute, Minute, 256))

  /** Cancels the test, visibly, or fails it where `HEARTH_REQUIRE` names ucx. */
  def withoutUcx(why: String): Nothing = {
    val required = sys.env.getOrElse("HEARTH_REQUIRE", "").split(',').contains("ucx")
    if (required) fail(why) else cancel(s"needs UCX: $why")
  }

  /** Goes as time does, and ahead where it is told: no test waits for a limit, and no slow machine meets one. */
  final class Clock extends LongSupplier {
    private val aheadNs = new AtomicLong
    override def getAsLong: Long = System.nanoTime + aheadNs.get
    def skip(seconds: Long): Unit = { aheadNs.addAndGet(seconds * Second); () }
  }

  /** Of what was said. */
  final class Heard extends java.util.function.Consumer[String] {
    private val lines = new ConcurrentLinkedQueue[String]
    override def accept(line: String): Unit = lines.add(line)
    def all: Vector[String] = lines.asScala.toVector
  }

  /** Answers with what was asked. */
  val echo: Service = request => {
    val buffer = request.buffer(request.data.remaining)
    buffer.data.put(request.data)
    request.respond(buffer)
  }

  /** What the descriptors of this JVM stand for, by their numbers. */
  def links: Map[String, String] = new java.io.File("/proc/self/fd").list.toVector.flatMap { fd =>
    Try(fd -> Files.readSymbolicLink(Path.of("/proc/self/fd", fd)).toString).toOption
  }.toMap

  /** Does something by which no thread ends. */
  def noneUncaught(work: => Unit): Unit = {
    val uncaught = new ConcurrentLinkedQueue[Throwable]
    val before = Thread.getDefaultUncaughtExceptionHandler
    Thread.setDefaultUncaughtExceptionHandler { (_, fault) => uncaught.add(fault); () }
    try work
    finally Thread.setDefaultUncaughtExceptionHandler(before)
    assert(uncaught.isEmpty)
    ()
  }

  /** Two sides in this JVM. */
  def wires[A](serving: WireSettings, asking: WireSettings)(use: (Wire, Wire) => A): A =
    Using.resources(Wire.open(serving, new Heard), Wire.open(asking, new Heard))(use)

  /** Sends a frame that announces a message of one length and has another. */
  private[transport] def send(
      to: Connection,
      id: Int,
      kind: Frame.Kind,
      announced: Int,
      sent: Int = 0
  ): Unit =
    to.withLink { link =>
      val buffer = to.memory(sent, BufferPool.Use.CONTROL).get
      Frame.write(buffer.whole, to.parameters.peerToken, id, announced, kind, 0, 0)
      link.send(buffer, java.util.List.of[FilePart]())
    }

  /** Says that a request of so many bytes comes, and sends none of them. */
  def announce(to: Connection, bytes: Int): Unit = send(to, 1, Frame.Kind.REQUEST, bytes)

  def bytes(connection: Connection, content: Array[Byte]): Buffer = {
    val buffer = connection.buffer(content.length)
    buffer.data.put(content)
    buffer
  }

  def ask(connection: Connection, content: Array[Byte], limitNs: Long = 60 * Second): Reply =
    connection.request(bytes(connection, content), limitNs)

  def content(reply: Reply): Array[Byte] =
    Using.resource(reply.get(60, TimeUnit.SECONDS)) { message =>
      val bytes = new Array[Byte](message.data.remaining)
      message.data.get(bytes)
      bytes
    }

  /** What a reply fails with. */
  def failure(reply: java.util.concurrent.CompletableFuture[_]): WireException =
    intercept[ExecutionException](reply.get(60, TimeUnit.SECONDS)).getCause
      .asInstanceOf[WireException]

  def eventually(what: => String)(check: => Boolean): Unit = {
    val end = System.nanoTime + 60 * Second
    while (!check) {
      assert(System.nanoTime < end, s"not within 60 s: $what")
      Thread.sleep(2)
    }
  }

  /** After the limit of a minute, and after each further one: what was under way may move meanwhile. */
  def afterTheLimit(clock: Clock, what: => String)(check: => Boolean): Unit =
    eventually(what) {
      clock.skip(61)
      Thread.sleep(50)
      check
    }

  /** Nothing is left of what has been. */
  def settled(wire: Wire, sockets: Int): Unit =
    eventually(s"${wire.counters} is clean but for $sockets sockets")(
      isSettled(wire.counters, sockets)
    )

  def isSettled(now: Counters, sockets: Int): Boolean =
    now.connections == 0 && now.pendingHandshakes == 0 && now.endpoints == 0 && now.inFlight == 0 &&
      now.buffers == 0 && now.sockets == sockets

  /** What this process has open: how many files, sockets and their like, by name without its numbers. */
  def descriptors(): Map[String, Int] =
    new java.io.File("/proc/self/fd").list.toVector
      .flatMap(fd => Try(Files.readSymbolicLink(Path.of("/proc/self/fd", fd)).toString).toOption)
      .groupMapReduce(_.replaceAll("[0-9a-f]{3,}", ""))(_ => 1)(_ + _)

  /** Leaks of each turn of a test come to more than `slack`: the JVM opens some files for itself. */
  def noMoreOpen(before: Map[String, Int], slack: Int): Unit = {
    def more = descriptors().map { case (kind, n) => kind -> (n - before.getOrElse(kind, 0)) }
    eventually(s"more is open: ${more.filter(_._2 > 0).mkString(", ")}")(more.values.sum <= slack)
  }

  def connect(wire: Wire, to: InetSocketAddress, service: Service = Service.NONE): Connection =
    wire.connect(to, service).get(60, TimeUnit.SECONDS)

  def signal(process: Process, name: String): Unit = {
    new ProcessBuilder("kill", s"-$name", process.pid.toString).start().waitFor()
    ()
  }

  /** No thread of it runs any more when this returns. */
  def stop(process: Process): Unit = {
    signal(process, "STOP")
    val threads = Path.of(s"/proc/${process.pid}/task")
    eventually("all threads have stopped")(Using.resource(Files.list(threads)) {
      _.allMatch { thread =>
        val stat = Files.readString(thread.resolve("stat"))
        stat.charAt(stat.lastIndexOf(')') + 2) == 'T'
      }
    })
  }

  /** A server of echoes in another JVM; it prints where it listens and reads until its input ends. */
  def child(
      transports: WireSettings.Transports,
      options: String*
  ): (Process, InetSocketAddress) = {
    val process = peer(options, transports.name)
    val lines = scala.io.Source.fromInputStream(process.getInputStream).getLines()
    val port = lines.find(_.startsWith("port ")).fold(fail("no port"))(identity).drop(5).toInt
    (process, new InetSocketAddress("127.0.0.1", port))
  }

  /** Another JVM that sends long requests to a port of this machine, one behind the other. */
  def asker(transports: WireSettings.Transports, port: Int): Process =
    peer(Nil, transports.name, port.toString)

  private def peer(options: Seq[String], words: String*): Process = {
    val java = s"${sys.props("java.home")}/bin/java"
    val own = Seq("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") ++ options
    val main = Seq("-cp", sys.props("java.class.path"), "io.hearth.transport.EchoPeer")
    new ProcessBuilder((java +: own) ++ main ++ words: _*)
      .redirectError(ProcessBuilder.Redirect.INHERIT)
      .start()
  }
}

/** The other JVM. */
object EchoPeer {
  def main(args: Array[String]): Unit = {
    // As Spark's executors do.
    Thread.setDefaultUncaughtExceptionHandler { (_, fault) =>
      System.err.println(s"an executor would end: $fault")
      Runtime.getRuntime.halt(50)
    }
    val settings = Wires.settings.withTransports(WireSettings.Transports.valueOf(args(0)))
    val wire = Wire.open(settings, line => System.err.println(line))
    args.lift(1).foreach { port =>
      val connection = Wires.connect(wire, new InetSocketAddress("127.0.0.1", port.toInt))
      while (true) Wires.content(Wires.ask(connection, new Array[Byte](8 << 20)))
    }
    println(s"port ${wire.listen(Wires.Loopback, Wires.echo).getPort}")
    while (System.in.read() >= 0) {}
    wire.close()
  }
}
