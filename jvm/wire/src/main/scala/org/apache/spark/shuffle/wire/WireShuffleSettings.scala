package org.apache.spark.shuffle.wire

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.{SASL_ENCRYPTION_ENABLED, SHUFFLE_SERVICE_ENABLED}
import org.apache.spark.internal.config.Network.NETWORK_CRYPTO_ENABLED

import io.hearth.core.plan.HearthKeys
import io.hearth.transport.{Idling, WireSettings}

/**
 * What Spark's configuration says of the wire.
 *
 * @param port at which it listens; 0: any that is free
 * @param whyNot why there is no wire at all; absent where there is one
 */
final private[spark] case class WireShuffleSettings(
    wire: WireSettings,
    memoryBytes: Long,
    port: Int,
    timeoutNs: Long,
    whyNot: Option[String]
)

private[spark] object WireShuffleSettings {
  private val SslRpc = "spark.ssl.rpc.enabled"

  /** @throws io.hearth.core.UserError where a value is not allowed, with its key */
  def of(conf: SparkConf): WireShuffleSettings = {
    val transports =
      WireSettings.Transports.valueOf(HearthKeys.ShuffleTransports.in(conf.getOption).toUpperCase)
    val timeoutS = conf.getTimeAsSeconds(
      "spark.shuffle.io.connectionTimeout",
      conf.get("spark.network.timeout", "120s")
    )
    WireShuffleSettings(
      WireSettings.defaults
        .withTransports(transports)
        .withIdling(Idling.named(HearthKeys.ShuffleIdle.in(conf.getOption))),
      HearthKeys.ShuffleMemory.in(conf.getOption),
      HearthKeys.ShufflePort.in(conf.getOption),
      timeoutS * 1000 * 1000 * 1000,
      whyNot(conf)
    )
  }

  private def whyNot(conf: SparkConf): Option[String] = {
    val encrypted = Seq(
      NETWORK_CRYPTO_ENABLED.key -> conf.get(NETWORK_CRYPTO_ENABLED),
      SASL_ENCRYPTION_ENABLED.key -> conf.get(SASL_ENCRYPTION_ENABLED),
      SslRpc -> conf.getBoolean(SslRpc, defaultValue = false)
    ).collectFirst { case (key, true) =>
      s"$key asks for encryption between hosts, which the wire does not have"
    }
    encrypted.orElse(
      Option.when(conf.get(SHUFFLE_SERVICE_ENABLED))(
        s"${SHUFFLE_SERVICE_ENABLED.key} has blocks served by the external shuffle service, which has no wire"
      )
    )
  }
}
