package io.hearth.hadoop

import java.io.{EOFException, IOException, InterruptedIOException}
import java.net.{ConnectException, InetSocketAddress, ServerSocket, SocketTimeoutException}
import java.nio.file.{Files, Path}
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.hearth.hadoop.Echo.{calling, withServer}
import io.hearth.transport.{Wire, WireException, WireSettings, Wires}
import io.hearth.transport.WireSettings.Transports
import io.hearth.transport.Wires.eventually
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.ipc.{
  CallerContext,
  Client,
  DefaultRpcScheduler,
  ProtobufRpcEngine2,
  RemoteException,
  RPC,
  Schedulable,
  WireServer
}
import org.apache.hadoop.ipc.protocolPB.GenericRefreshProtocolPB
import org.apache.hadoop.security.UserGroupInformation
import org.apache.hadoop.security.authorize.{AuthorizationException, ProxyUsers}
import org.apache.hadoop.thirdparty.protobuf.ServiceException
import org.scalatest.funsuite.AnyFunSuite

class WireRpcTest extends AnyFunSuite {
  private def cause(call: => Any): Throwable = intercept[ServiceException](call).getCause

  private def secretFile(text: String): Path = {
    val file = Files.createTempFile("key", "") // for its owner alone
    file.toFile.deleteOnExit()
    Files.writeString(file, text)
  }

  test("a call over the wire is run by a handler of Hadoop's and gets its answer") {
    withServer() { (server, echo) =>
      calling(server)(call =>
        assert((1 to 100).map(n => call("echo", s"$n")) == (1 to 100).map(n => s"$n"))
      )
      val seen = echo.seen.asScala.toVector
      assert(seen.size == 100 && seen.forall(_.overWire))
      assert(seen.forall(_.thread.startsWith("IPC Server handler ")))
      assert(seen.forall(_.address == "127.0.0.1"))
      assert(seen.map(_.callId).distinct.size == 100)
      assert(seen.map(_.clientId).distinct.size == 1 && seen.head.clientId.size == 16)
    }
  }

  test("the handler knows the caller: the user, whom a user acts for, the context") {
    val real = UserGroupInformation.createRemoteUser("carrier")
    val other = UserGroupInformation.createProxyUser("other", real)
    val allowed =
      Seq("hadoop.proxyuser.carrier.hosts" -> "*", "hadoop.proxyuser.carrier.users" -> "*")
    ProxyUsers.refreshSuperUserGroupsConfiguration(Echo.conf(allowed: _*))
    withServer(allowed: _*) { (server, echo) =>
      CallerContext.setCurrent(new CallerContext.Builder("my job").build)
      try calling(server, user = other)(_("echo", "x"))
      finally CallerContext.setCurrent(null)
      val seen = echo.seen.asScala.head
      assert(seen.overWire)
      assert((seen.user, seen.realUser, seen.context) == ("other", Some("carrier"), Some("my job")))
    }
  }

  test("who may not act for another is refused, as over TCP, and nothing is run") {
    ProxyUsers.refreshSuperUserGroupsConfiguration(Echo.conf())
    val other = UserGroupInformation
      .createProxyUser("other", UserGroupInformation.createRemoteUser("nobody"))
    withServer() { (server, echo) =>
      calling(server)(_("echo", "x")) // so that the wire is known
      val error = cause(calling(server, user = other)(_("echo", "x")))
      assert(
        error
          .asInstanceOf[RemoteException]
          .unwrapRemoteException
          .isInstanceOf[AuthorizationException]
      )
      assert(error.getMessage.contains("nobody is not allowed to impersonate other"))
      assert(echo.seen.size == 1)
    }
  }

  test("what a service throws arrives with its class, its message and its stack") {
    withServer() { (server, echo) =>
      val error = cause(calling(server)(_("throw"))).asInstanceOf[RemoteException]
      assert(error.getClassName == "org.apache.hadoop.fs.PathIOException")
      assert(error.getMessage.contains("`/a/path': not today"))
      assert(error.getMessage.contains("at io.hearth.hadoop.Echo.refresh"))
      assert(echo.seen.asScala.forall(_.overWire))
    }
  }

  test("an answer given later, by another thread, arrives; so does a failure") {
    withServer() { (server, echo) =>
      calling(server) { call =>
        assert(call("defer", "") == "later")
        assert(cause(call("defer", "fail")).getMessage.contains("failed later"))
      }
      assert(echo.seen.asScala.forall(_.overWire))
    }
  }

  test("a call that takes longer than its limit fails as Hadoop's does") {
    withServer() { (server, _) =>
      calling(server)(_("echo", "x"))
      val error = cause(calling(server, limitMs = 300)(_("slow")))
      assert(error.isInstanceOf[SocketTimeoutException], error)
      assert(error.getMessage.contains("127.0.0.1"))
    }
  }

  test("an interrupted caller goes on, and its call is given up on the server") {
    val echo = new Echo
    val server = Echo.server(echo, Echo.conf(), handlers = 1)
    try
      calling(server) { call =>
        call("echo", "x")
        val thrown = new AtomicReference[Throwable]
        val first = new Thread(() => call("slow"))
        first.start()
        eventually("the handler is busy")(echo.seen.size == 2)
        val second = new Thread(() => thrown.set(cause(call("echo", "never"))))
        second.start()
        eventually("the second waits")(server.getCallQueueLen == 1)
        second.interrupt()
        second.join(10000)
        assert(thrown.get.isInstanceOf[InterruptedIOException])
        Thread.sleep(200) // it is told on the wire
        echo.goOn.countDown()
        first.join(10000)
        eventually("the queue is empty")(server.getCallQueueLen == 0)
        call("echo", "y")
        assert(echo.seen.size == 3, "the one that was given up was not run")
      }
    finally server.stop()
  }

  test("answers of many threads are not mixed up") {
    withServer() { (server, echo) =>
      calling(server) { call =>
        val pool = Executors.newFixedThreadPool(16)
        implicit val context: ExecutionContext = ExecutionContext.fromExecutor(pool)
        try {
          val all = Future.traverse((1 to 2000).toList)(n => Future(call("echo", s"$n") == s"$n"))
          assert(Await.result(all, 60.seconds).forall(identity))
        } finally pool.shutdown()
      }
      assert(echo.seen.size == 2000 && echo.seen.asScala.forall(_.overWire))
    }
  }

  test("long messages go over the wire, and a request over its limit over TCP") {
    val limit = "ipc.maximum.response.length" -> (8 << 20).toString
    withServer(limit) { (server, echo) =>
      calling(server, Echo.conf(limit)) { call =>
        assert(call("long", s"${7 << 20}").length == (7 << 20))
        assert(call("echo", "y" * (6 << 20)).length == (6 << 20))
      }
      assert(echo.seen.asScala.forall(_.overWire))
    }
  }

  test("an answer over the limit is an error that says so, and the next call works") {
    val limit = "ipc.maximum.response.length" -> (1 << 20).toString
    withServer(limit) { (server, _) =>
      calling(server, Echo.conf(limit)) { call =>
        val error = cause(call("long", s"${2 << 20}"))
        assert(error.getMessage.contains("the limit is"))
        assert(call("echo", "x") == "x")
      }
    }
  }

  test("a server without a wire is called over TCP; without fallback the call fails") {
    val echo = new Echo
    val plain = Echo.conf(Echo.Engine -> classOf[ProtobufRpcEngine2].getName)
    val service =
      org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshProtocolService
        .newReflectiveBlockingService(echo)
    val server = new ProtobufRpcEngine2().getServer(
      classOf[GenericRefreshProtocolPB],
      service,
      "127.0.0.1",
      0,
      2,
      1,
      10,
      false,
      plain,
      null,
      null,
      null
    )
    server.start()
    try {
      calling(server)(call => assert(call("echo", "x") == "x"))
      assert(!echo.seen.asScala.head.overWire)
      val refused = Echo.conf("hearth.rpc.fallback" -> "false")
      val error = cause(calling(server, refused)(_("echo", "x")))
      assert(error.getMessage.contains("hearth.rpc.fallback is off"))
      assert(echo.seen.size == 1)
    } finally server.stop()
  }

  test(
    "when the server ends in the middle of a call, the call fails; a new one at its port is found"
  ) {
    val echo = new Echo
    val first = Echo.server(echo, Echo.conf())
    val port = first.getPort
    val thrown = new AtomicReference[Throwable]
    Using.resource(new Echo.Caller(first.getListenerAddress, Echo.conf())) { call =>
      call("echo", "x")
      val caller = new Thread(() => thrown.set(cause(call("slow"))))
      caller.start()
      eventually("it runs")(echo.seen.size == 2)
      first.stop()
      caller.join(20000)
      assert(thrown.get.isInstanceOf[EOFException], thrown.get)
      echo.goOn.countDown()
      val next = new Echo
      var second: RPC.Server = null
      eventually("Hadoop gives the port back") {
        second = Try(Echo.server(next, Echo.conf(), port)).getOrElse(null)
        second != null
      }
      try {
        assert(call("echo", "y") == "y")
        assert(next.seen.asScala.forall(_.overWire))
      } finally second.stop()
    }
  }

  test(
    "an attempt that goes over TCP has the ids of the one on the wire, so that a server knows it again"
  ) {
    withServer() { (server, echo) =>
      calling(server) { call =>
        call("echo", "x")
        val id = Client.nextCallId
        Client.setCallIdAndRetryCount(id, 0, null)
        call("echo", "first")
        Client.setCallIdAndRetryCount(id, 1, null)
        Client.setAsynchronousMode(true) // which goes over TCP
        try {
          intercept[NullPointerException](call("echo", "again")) // no answer yet
          ProtobufRpcEngine2.getAsyncReturnMessage.get(60, TimeUnit.SECONDS)
        } finally Client.setAsynchronousMode(false)
        val (first, again) = { val all = echo.seen.asScala.toVector; (all(1), all(2)) }
        assert(first.overWire && !again.overWire)
        assert((first.callId, first.clientId) == (again.callId, again.clientId))
        assert((first.retries, again.retries) == (0, 1))
      }
    }
  }

  test("the question for a server's wire takes no id of the call that asks it") {
    val (peer, address) = EchoPeer.start()
    try
      Using.resource(new Echo.Caller(address, Echo.conf())) { call =>
        val id = Client.nextCallId
        Client.setCallIdAndRetryCount(id, 2, null)
        assert(call("ids") == s"$id 2 true")
      }
    finally peer.destroyForcibly().waitFor()
  }

  test("a call that fails before it is made uses its ids up: the thread's next one is made") {
    val nobody = Using.resource(new ServerSocket(0))(_.getLocalPort)
    val once = Echo.conf("ipc.client.connect.max.retries" -> "0")
    Using.resource(new Echo.Caller(new InetSocketAddress("127.0.0.1", nobody), once)) { call =>
      for (_ <- 1 to 2) {
        Client.setCallIdAndRetryCount(
          Client.nextCallId,
          0,
          null
        ) // as Hadoop's policies of retrying do
        assert(cause(call("echo", "x")).isInstanceOf[ConnectException])
      }
    }
  }

  test("with a Hadoop that it was not made for the engine is Hadoop's own, on a server too") {
    val other = Files.createTempDirectory("hadoop")
    val version =
      Files.writeString(other.resolve("common-version-info.properties"), "version=3.4.1\n")
    Seq(other, version).foreach(_.toFile.deleteOnExit()) // the last one first
    val (peer, address) = EchoPeer.start(other)
    try
      Using.resource(new Echo.Caller(address, Echo.conf()))(call =>
        assert(call("ids").endsWith("false"))
      )
    finally peer.destroyForcibly().waitFor()
  }

  test("without the server's secret calls go over TCP") {
    val file = secretFile("a secret of the server's")
    withServer("hearth.rpc.secret.file" -> file.toString) { (server, echo) =>
      calling(server)(_("echo", "x"))
      assert(!echo.seen.asScala.head.overWire)
    }
  }

  test(
    "strangers who announce long calls and send nothing delay no call, over the wire or over TCP"
  ) {
    withServer() { (server, _) =>
      val at = new InetSocketAddress("127.0.0.1", server.asInstanceOf[WireServer].wirePort)
      calling(server) { call =>
        Using.resource(Echo.overTcp(server)) { tcp =>
          assert(call("echo", "x") == "x" && tcp("ids").endsWith("false"))
          val wire = Wire.open(WireSettings.defaults.withTransports(Transports.TCP), _ => ())
          val strangers = (1 to 5).map(_ => Wires.connect(wire, at))
          try {
            strangers.foreach(Wires.announce(_, 128 << 20))
            Thread.sleep(300)
            val pool = Executors.newFixedThreadPool(8)
            implicit val context: ExecutionContext = ExecutionContext.fromExecutor(pool)
            try {
              val bytes = 1 << 20
              def answered = call("long", s"$bytes").length == bytes
              val all = Future.traverse((1 to 40).toList)(_ => Future(answered))
              Thread.sleep(300) // each handler has one
              (1 to 20).foreach(_ => tcp("echo", "x"))
              assert(strangers.forall(!_.end.isDone), "no call waits until they are given up")
              assert(Await.result(all, 60.seconds).forall(identity))
            } finally pool.shutdown()
          } finally wire.close()
        }
      }
    }
  }

  test("an Error at one call is that call's: the next ones are served") {
    val port = Using.resource(new ServerSocket(0))(_.getLocalPort)
    val echo = new Echo
    val conf = Echo.conf(s"ipc.$port.scheduler.impl" -> classOf[FaultyScheduler].getName)
    val server = Echo.server(echo, conf, port)
    try {
      val failing = UserGroupInformation.createRemoteUser(FaultyScheduler.User)
      val error = cause(calling(server, user = failing, limitMs = 5000)(_("echo", "x")))
      assert(error.getMessage.contains("no native library"))
      assert(calling(server, limitMs = 5000)(_("echo", "y")) == "y")
      assert(echo.seen.size == 1 && echo.seen.peek.overWire)
    } finally server.stop()
  }

  test("bytes that are no call are refused, and the server goes on") {
    withServer() { (server, echo) =>
      calling(server)(_("echo", "x"))
      val port = server.asInstanceOf[WireServer].wirePort
      Using.resource(Wire.open(WireSettings.defaults, _ => ())) { wire =>
        val connection =
          wire.connect(new InetSocketAddress("127.0.0.1", port)).get(60, TimeUnit.SECONDS)
        val dice = new scala.util.Random(1)
        for (length <- 0 to 300) {
          val bytes = dice.nextBytes(length)
          if (length >= 8) java.nio.ByteBuffer.wrap(bytes).putInt(length - 4)
          val buffer = connection.buffer(length)
          buffer.data.put(bytes)
          val error = intercept[java.util.concurrent.ExecutionException](
            connection.request(buffer, 60.seconds.toNanos).get(60, TimeUnit.SECONDS)
          )
          assert(error.getCause.asInstanceOf[WireException].kind == WireException.Kind.FAILED)
        }
      }
      calling(server)(_("echo", "y"))
      assert(echo.seen.size == 2)
    }
  }

  test("memory and window of the wire are properties; memory holds four of the longest messages") {
    val wire = RpcSettings
      .of(Echo.conf("hearth.rpc.memory" -> "1g", "hearth.rpc.window" -> "1m"))
      .wire
    assert((wire.memoryBytes, wire.windowBytes) == ((1L << 30, 1 << 20)))
    val little = RpcSettings.of(Echo.conf("hearth.rpc.memory" -> "16m")).wire
    assert(little.memoryBytes == 4L * little.maxMessageBytes)
    val error = intercept[IOException](RpcSettings.of(Echo.conf("hearth.rpc.window" -> "8g")))
    assert(error.getMessage.contains("hearth.rpc.window"))
  }

  test("a value that is not allowed is named with its key") {
    for (
      (key, value) <- Seq(
        "hearth.rpc.idle" -> "never",
        "hearth.rpc.port" -> "70000"
      )
    ) {
      val error = intercept[IOException](RpcSettings.of(Echo.conf(key -> value)))
      assert(error.getMessage.startsWith(s"$key: '$value' is not one of "))
    }
  }
}

/** A scheduler of Hadoop's call queue that needs what is not there. */
final class FaultyScheduler(levels: Int, namespace: String, conf: Configuration)
    extends DefaultRpcScheduler(levels, namespace, conf) {
  override def getPriorityLevel(call: Schedulable): Int =
    if (call.getUserGroupInformation.getShortUserName == FaultyScheduler.User)
      throw new UnsatisfiedLinkError("no native library")
    else super.getPriorityLevel(call)
}

object FaultyScheduler {
  val User = "unlucky"
}
