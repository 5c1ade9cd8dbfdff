package io.hearth.workloads.streaming.server

import java.io.{BufferedOutputStream, IOException, OutputStream}
import java.net.{BindException, InetAddress, InetSocketAddress}
import java.nio.channels.ServerSocketChannel
import java.nio.file.{Files, Path}
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicReference

import com.sun.net.httpserver.{HttpExchange, HttpServer}

import io.hearth.workloads.{Arguments, Draft, Json, Parameter, Settings, UserError}

/**
 * The verb `serve STREAM`: a data server on loopback for one reader. It sends events at a steady
 * rate from the moment the reader connects, and afterwards keeps the connection and answers
 * `GET /status` on its control port until it is stopped; with `--parent PID` it ends with that
 * process.
 *
 * The status: `sent`, `unsent`, `done`, `late_ms_max` and `reader` as in [[FeedStatus]], plus
 * `stream`, `seed`, `rate`, `events`.
 */
object ServeVerb {

  val parameters: Seq[Parameter] = Seq(
    Parameter.whole("rate", 10, "events per second"),
    Parameter.whole("events", 100, "number of events in total", max = Long.MaxValue),
    Parameter.whole("seed", 1, "seed of the events", min = 0, max = Long.MaxValue),
    port("port", "port of the data; 0: any free one"),
    port("control-port", "port of the status; 0: any free one"),
    Parameter("log", "", "file that gets every event sent; empty: none"),
    Parameter("ready", "", "file that gets the ports as JSON once both are open; empty: none"),
    Parameter.whole("parent", 0, "process id to end with; 0: none", min = 0)
  )

  /** Does not return: the server ends with its process. */
  def run(name: String, arguments: Arguments): Unit = {
    val stream = EventStream.named(name)
    val settings = Settings.of("serve", parameters, arguments.without())
    val status = new AtomicReference(FeedStatus())
    val listener = listen(settings.int("port"))
    val control = controlPort(settings, () => json(stream, settings, status.get))
    endWith(settings.long("parent"))
    val log = openLog(settings.text("log"))
    announce(settings.text("ready"), listener, control)
    val channel = listener.accept()
    // One reader: later ones are refused rather than left waiting for events.
    listener.close()
    val plan = FeedPlan.of(settings.long("events"), settings.long("rate"))
    new EventFeed(plan, stream.lines(settings.long("seed")), channel, log, status.set).run()
    new CountDownLatch(1).await()
  }

  private def port(name: String, help: String): Parameter =
    Parameter.whole(name, 0, help, min = 0, max = 65535)

  private def listen(port: Int): ServerSocketChannel = {
    val listener = ServerSocketChannel.open()
    try listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress, port), 1)
    catch { case e: BindException => throw refused("port", port, e) }
  }

  private def refused(name: String, port: Int, e: BindException): UserError =
    new UserError(s"--$name: $port: ${e.getMessage}: choose another, or 0 for any free")

  private def controlPort(settings: Settings, status: () => String): HttpServer = {
    val port = settings.int("control-port")
    val loopback = new InetSocketAddress(InetAddress.getLoopbackAddress, port)
    val server =
      try HttpServer.create(loopback, 0)
      catch { case e: BindException => throw refused("control-port", port, e) }
    server.createContext("/status", answer(_, status()))
    server.start()
    server
  }

  private def answer(exchange: HttpExchange, text: String): Unit = {
    val bytes = text.getBytes("UTF-8")
    exchange.getResponseHeaders.set("Content-Type", "application/json")
    exchange.sendResponseHeaders(200, bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
    exchange.close()
  }

  private def json(stream: EventStream, settings: Settings, status: FeedStatus): String =
    Json.pretty(
      Json.obj(
        "stream" -> stream.name,
        "seed" -> settings.long("seed"),
        "rate" -> settings.long("rate"),
        "events" -> settings.long("events"),
        "sent" -> status.sent,
        "unsent" -> status.unsent,
        "done" -> status.done,
        "late_ms_max" -> status.lateMsMax,
        "reader" -> status.reader
      )
    )

  private def endWith(parent: Long): Unit =
    if (parent > 0) {
      val process = ProcessHandle.of(parent)
      if (process.isEmpty)
        throw new UserError(
          s"--parent: process $parent does not exist: give the id of a running one, or 0"
        )
      process.get.onExit().thenRun(() => Runtime.getRuntime.halt(0))
      ()
    }

  private def openLog(file: String): Option[OutputStream] =
    Option.when(file.nonEmpty) {
      try new BufferedOutputStream(Files.newOutputStream(Path.of(file)), 1 << 20)
      catch {
        case e: IOException =>
          throw new UserError(s"--log: '$file' cannot be written (${e.getMessage})", Some(e))
      }
    }

  private def announce(file: String, data: ServerSocketChannel, control: HttpServer): Unit = {
    val text = Json.line(
      Json.obj(
        "port" -> data.socket.getLocalPort,
        "control" -> control.getAddress.getPort,
        "pid" -> ProcessHandle.current.pid
      )
    )
    println(text)
    if (file.nonEmpty) {
      Draft.write(Path.of(file))(Files.writeString(_, text))
      ()
    }
  }
}
