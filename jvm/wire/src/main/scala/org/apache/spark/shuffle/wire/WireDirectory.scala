package org.apache.spark.shuffle.wire

import java.net.InetSocketAddress
import java.security.SecureRandom
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap}

import scala.concurrent.ExecutionContext
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success}

import org.apache.spark.rpc.{
  RpcAddress,
  RpcCallContext,
  RpcEndpointRef,
  RpcEnv,
  ThreadSafeRpcEndpoint
}

import io.hearth.shuffle.ExecutorDirectory

/**
 * In the driver: knows at which port each executor's wire listens, and the secret of those applications that have none
 * of Spark's (`spark.authenticate`).
 *
 * Messages are tuples of texts: a class of hearth's might not be known to the loader that reads them.
 */
private[spark] class WireDirectory(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
  private val places = new ConcurrentHashMap[String, String]
  private val connected = new ConcurrentHashMap[String, RpcAddress]
  private val secret = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    bytes.map(b => f"$b%02x").mkString
  }

  override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
    case WireDirectory.Secret => context.reply(secret)
    case (WireDirectory.Join, executor: String, place: String) =>
      places.put(executor, place)
      connected.put(executor, context.senderAddress)
      context.reply(true)
    case (WireDirectory.Find, executor: String) =>
      context.reply(places.getOrDefault(executor, WireDirectory.Unknown))
  }

  /** An executor whose connection with the driver ends is lost. */
  override def onDisconnected(gone: RpcAddress): Unit = {
    val lost = connected.asScala.collect { case (executor, `gone`) => executor }.toVector
    lost.foreach { executor =>
      connected.remove(executor)
      places.remove(executor)
    }
  }
}

private[spark] object WireDirectory {
  val Name = "hearth-shuffle"
  val Secret = "hearth-shuffle-secret"
  private val Join = "hearth-shuffle-join"
  private val Find = "hearth-shuffle-find"
  private val Unknown = "-it has not said yet where its wire listens"

  /** As an executor sees it. */
  final class Seen(driver: RpcEndpointRef) extends ExecutorDirectory {

    def secret(): String = driver.askSync[String](Secret)

    /** What others hear who ask for this executor: where its wire listens, or why it has none. */
    def join(executor: String, place: Either[String, InetSocketAddress]): Unit = {
      val text =
        place.fold("-" + _, where => s"+${where.getPort} ${where.getAddress.getHostAddress}")
      driver.askSync[Boolean]((Join, executor, text))
      ()
    }

    override def find(executor: String): CompletableFuture[Either[String, InetSocketAddress]] = {
      val answer = new CompletableFuture[Either[String, InetSocketAddress]]
      driver
        .ask[String]((Find, executor))
        .onComplete {
          case Success(text) => answer.complete(place(text))
          case Failure(trouble) => answer.completeExceptionally(trouble)
        }(ExecutionContext.parasitic)
      answer
    }
  }

  private def place(text: String): Either[String, InetSocketAddress] = text match {
    case s"+$port $host" => Right(new InetSocketAddress(host, port.toInt))
    case why => Left(why.drop(1))
  }
}
