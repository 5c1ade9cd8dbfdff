package io.hearth.hadoop

import java.io.IOException
import java.net.InetSocketAddress
import java.nio.file.Path
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.PathIOException
import org.apache.hadoop.ipc.{CallerContext, ProtobufRpcEngine2, RPC, Server}
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos._
import org.apache.hadoop.ipc.protocolPB.GenericRefreshProtocolPB
import org.apache.hadoop.net.NetUtils
import org.apache.hadoop.security.UserGroupInformation
import org.apache.hadoop.thirdparty.protobuf.{RpcController, ServiceException}

/** What a call was, as its handler saw it. */
final case class Seen(
    overWire: Boolean,
    user: String,
    realUser: Option[String],
    address: String,
    callId: Int,
    retries: Int,
    clientId: Seq[Byte],
    context: Option[String],
    thread: String
)

/** A protobuf service of Hadoop's with a meaning of its own: what the request names is done. */
final class Echo extends GenericRefreshProtocolPB {
  val seen = new ConcurrentLinkedQueue[Seen]
  val goOn = new CountDownLatch(1)

  override def refresh(
      controller: RpcController,
      request: GenericRefreshRequestProto
  ): GenericRefreshResponseCollectionProto = {
    val user = Server.getRemoteUser
    seen.add(
      Seen(
        Echo.isOverWire,
        user.getShortUserName,
        Option(user.getRealUser).map(_.getShortUserName),
        Server.getRemoteAddress,
        Server.getCallId,
        Server.getCallRetryCount,
        Server.getClientId.toSeq,
        Option(CallerContext.getCurrent).map(_.getContext),
        Thread.currentThread.getName
      )
    )
    request.getIdentifier match {
      case "echo" => Echo.answer(request.getArgs(0))
      case "ids" =>
        Echo.answer(s"${Server.getCallId} ${Server.getCallRetryCount} ${Echo.isOverWire}")
      case "long" => Echo.answer("x" * request.getArgs(0).toInt)
      case "throw" => throw new ServiceException(new PathIOException("/a/path", "not today"))
      case "slow" => goOn.await(20, TimeUnit.SECONDS); Echo.answer("at last")
      case "defer" =>
        val later = ProtobufRpcEngine2.Server.registerForDeferredResponse2()
        new Thread(() =>
          if (request.getArgs(0) == "fail") later.error(new IOException("failed later"))
          else later.setResponse(Echo.answer("later"))
        ).start()
        Echo.answer("not this")
    }
  }
}

object Echo {
  val Engine = s"rpc.engine.${classOf[GenericRefreshProtocolPB].getName}"

  def isOverWire: Boolean = Server.getCurCall.get.getClass.getSimpleName == "WireCall"

  def answer(text: String): GenericRefreshResponseCollectionProto =
    GenericRefreshResponseCollectionProto.newBuilder
      .addResponses(GenericRefreshResponseProto.newBuilder.setUserMessage(text))
      .build

  def conf(settings: (String, String)*): Configuration = {
    val conf = new Configuration(false)
    conf.set(Engine, classOf[WireRpcEngine].getName)
    settings.foreach { case (key, value) => conf.set(key, value) }
    conf
  }

  def server(echo: Echo, conf: Configuration, port: Int = 0, handlers: Int = 4): RPC.Server = {
    val service = GenericRefreshProtocolService.newReflectiveBlockingService(echo)
    val server = new RPC.Builder(conf)
      .setProtocol(classOf[GenericRefreshProtocolPB])
      .setInstance(service)
      .setBindAddress("127.0.0.1")
      .setPort(port)
      .setNumHandlers(handlers)
      .build
    server.start()
    server
  }

  def withServer[T](settings: (String, String)*)(use: (RPC.Server, Echo) => T): T = {
    val echo = new Echo
    val running = server(echo, conf(settings: _*))
    try use(running, echo)
    finally {
      echo.goOn.countDown()
      running.stop()
    }
  }

  private type Proxy = GenericRefreshProtocolPB
  private val version = RPC.getProtocolVersion(classOf[Proxy])

  /** A client without hearth. The engine of a protocol is a process's, so Hadoop's is named here. */
  def overTcp(server: RPC.Server): Caller = {
    val conf = new Configuration(false)
    val sockets = NetUtils.getDefaultSocketFactory(conf)
    val user = UserGroupInformation.getCurrentUser
    val at = server.getListenerAddress
    val engine = new ProtobufRpcEngine2
    val made = engine.getProxy(classOf[Proxy], version, at, user, conf, sockets, 0, null)
    new Caller(made.getProxy)
  }

  final class Caller(proxy: Proxy) extends AutoCloseable {

    def this(
        address: InetSocketAddress,
        conf: Configuration,
        user: UserGroupInformation = UserGroupInformation.getCurrentUser,
        limitMs: Int = 0
    ) = this(
      RPC.getProxy(
        classOf[Proxy],
        version,
        address,
        user,
        conf,
        NetUtils.getDefaultSocketFactory(conf),
        limitMs
      )
    )

    def apply(what: String, arguments: String*): String = {
      val request = GenericRefreshRequestProto.newBuilder.setIdentifier(what)
      arguments.foreach(request.addArgs)
      proxy.refresh(null, request.build).getResponses(0).getUserMessage
    }

    override def close(): Unit = RPC.stopProxy(proxy)
  }

  def calling[T](
      server: RPC.Server,
      conf: Configuration = Echo.conf(),
      user: UserGroupInformation = UserGroupInformation.getCurrentUser,
      limitMs: Int = 0
  )(use: Caller => T): T =
    Using.resource(new Caller(server.getListenerAddress, conf, user, limitMs))(use)
}

/** A server in a JVM of its own: prints its port, and ends with its input. */
object EchoPeer {
  def main(args: Array[String]): Unit = {
    val server = Echo.server(new Echo, Echo.conf())
    println(s"port ${server.getPort}")
    while (System.in.read() >= 0) {}
    server.stop()
  }

  /** before: directories that come first on its class path. */
  def start(before: Path*): (Process, InetSocketAddress) = {
    val java = s"${sys.props("java.home")}/bin/java"
    val options = Seq("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    val path = (before.map(_.toString) :+ sys.props("java.class.path")).mkString(":")
    val classes = Seq("-cp", path, "io.hearth.hadoop.EchoPeer")
    val process = new ProcessBuilder((java +: (options ++ classes)): _*)
      .redirectError(ProcessBuilder.Redirect.INHERIT)
      .start()
    val lines = scala.io.Source.fromInputStream(process.getInputStream).getLines()
    val port = lines.find(_.startsWith("port ")).getOrElse(sys.error("no port")).drop(5).toInt
    (process, new InetSocketAddress("127.0.0.1", port))
  }
}
