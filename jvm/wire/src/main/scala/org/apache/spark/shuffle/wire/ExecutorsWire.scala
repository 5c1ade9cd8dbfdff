package org.apache.spark.shuffle.wire

import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkEnv
import org.apache.spark.metrics.source.Source
import org.apache.spark.network.buffer.FileSegmentManagedBuffer
import org.apache.spark.network.shuffle.BlockStoreClient
import org.apache.spark.shuffle.ShuffleBlockResolver
import org.apache.spark.storage.{BlockId, BlockManager, ShuffleBlockBatchId, ShuffleBlockId}
import org.apache.spark.util.RpcUtils
import org.slf4j.LoggerFactory

import io.hearth.shuffle.{Segment, ShuffleWire, Traffic}
import io.hearth.transport.Secret

/** The wire of this executor, put in the place of Spark's own transfer; made from what Spark has made. */
private[spark] object ExecutorsWire {
  val Off = "all shuffle blocks come over Spark's own transfer, none over hearth's wire"

  private val log = LoggerFactory.getLogger("org.apache.spark.shuffle.wire.ExecutorsWire")

  /** Tells the driver where it listens, or why there is none: others then ask no further. */
  def open(
      settings: WireShuffleSettings,
      resolver: ShuffleBlockResolver
  ): Either[String, ShuffleWire] = {
    val env = SparkEnv.get
    try {
      val driver = RpcUtils.makeDriverRef(WireDirectory.Name, env.conf, env.rpcEnv)
      val directory = new WireDirectory.Seen(driver)
      val opened = listening(settings, resolver, directory)
      if (opened.isLeft) directory.join(env.executorId, opened.map(_.where))
      opened
    } catch { case NonFatal(trouble) => Left(s"the driver does not answer: $trouble") }
  }

  private def listening(
      settings: WireShuffleSettings,
      resolver: ShuffleBlockResolver,
      directory: WireDirectory.Seen
  ): Either[String, ShuffleWire] = {
    val env = SparkEnv.get
    try {
      val wire = ShuffleWire.open(parts(env, settings, resolver, directory), settings.memoryBytes)
      try {
        directory.join(env.executorId, Right(wire.where))
        replaceTransfer(env, wire)
      } catch {
        case trouble: Throwable =>
          wire.close()
          throw trouble
      }
      Right(wire)
    } catch { case NonFatal(trouble) => Left(trouble.toString) }
  }

  private def parts(
      env: SparkEnv,
      settings: WireShuffleSettings,
      resolver: ShuffleBlockResolver,
      directory: WireDirectory.Seen
  ): ShuffleWire.Parts = ShuffleWire.Parts(
    settings.wire.withSecret(secret(env, directory)),
    InetAddress.getByName(env.blockManager.blockManagerId.host),
    settings.port,
    Runtime.getRuntime.availableProcessors,
    settings.timeoutNs,
    segment(resolver, _),
    directory,
    line => log.info(line)
  )

  private def replaceTransfer(env: SparkEnv, wire: ShuffleWire): Unit = {
    val sparks = env.blockManager.blockStoreClient
    SparksTransfer.replace(env.blockManager, new WireBlockStoreClient(sparks, wire))
    env.metricsSystem.registerSource(new WireSource(wire))
    val ucx = if (wire.whyNoUcx.isEmpty) "UCX and TCP" else s"TCP, as ${wire.whyNoUcx}"
    log.info(s"hearth's wire for shuffle blocks listens at ${wire.where} (for $ucx)")
  }

  /** With authentication both sides prove Spark's own secret; else one that the driver tells its executors. */
  private def secret(env: SparkEnv, directory: WireDirectory.Seen): Secret = {
    val shared =
      if (env.securityManager.isAuthenticationEnabled()) env.securityManager.getSecretKey()
      else directory.secret()
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(shared.getBytes(UTF_8), "HmacSHA256"))
    Secret.of(mac.doFinal("hearth's wire for shuffle blocks".getBytes(UTF_8)))
  }

  /** Shuffle blocks alone, whatever a peer asks for. */
  private def segment(resolver: ShuffleBlockResolver, name: String): Segment = {
    val block = BlockId(name) match {
      case id @ (_: ShuffleBlockId | _: ShuffleBlockBatchId) => id
      case other => throw new IllegalArgumentException(s"$other is not a block of a shuffle")
    }
    resolver.getBlockData(block, None) match {
      case file: FileSegmentManagedBuffer =>
        Segment(file.getFile.toPath, file.getOffset, file.getLength)
      case other => throw new IllegalStateException(s"$block lies in no file but in $other")
    }
  }
}

/** Spark has no interface for another transfer: its block manager's field is set, as it is alike in 4.0 to 4.3. */
private object SparksTransfer {
  private val Field = "blockStoreClient"

  /** @throws NoSuchFieldException where this Spark has no such field */
  def replace(manager: BlockManager, client: BlockStoreClient): Unit = {
    val field = classOf[BlockManager].getDeclaredField(Field)
    field.setAccessible(true)
    field.set(manager, client)
  }
}

/** `hearth.shuffle` among the metrics of an executor. */
private class WireSource(wire: ShuffleWire) extends Source {
  override val sourceName: String = "hearth.shuffle"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private def gauge(name: String)(value: => Long): Unit = {
    metricRegistry.register(name, (() => value): Gauge[Long])
    ()
  }

  for (transport <- Traffic.Transports) {
    gauge(s"$transport.fetchedBytes")(wire.traffic.fetchedBytes(transport).sum)
    gauge(s"$transport.fetchedBlocks")(wire.traffic.fetchedBlocks(transport).sum)
  }
  gauge("servedBytes")(wire.traffic.servedBytes.sum)
  gauge("handedOverBlocks")(wire.traffic.handedOverBlocks.sum)
  gauge("connections")(wire.counters.connections.toLong)
  gauge("memoryBytes")(wire.counters.reservedBytes)
}
