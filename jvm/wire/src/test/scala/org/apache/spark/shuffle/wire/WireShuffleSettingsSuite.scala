package org.apache.spark.shuffle.wire

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.Idling
import io.hearth.transport.WireSettings.Transports

class WireShuffleSettingsSuite extends AnyFunSuite {

  private def of(pairs: (String, String)*): WireShuffleSettings =
    WireShuffleSettings.of(new SparkConf(false).setAll(pairs))

  test("without any setting there is a wire over any transport") {
    val settings = of()
    assert(settings.whyNot.isEmpty && settings.wire.transports == Transports.ANY)
    assert(settings.memoryBytes == 64L << 20 && settings.port == 0)
    assert(settings.wire.idling == Idling.EVENT)
    assert(settings.timeoutNs == 120L * 1000 * 1000 * 1000)
  }

  test("what the user set is taken, and Spark's own timeouts hold") {
    val settings = of("spark.hearth.shuffle.transports" -> "tcp", "spark.network.timeout" -> "7s")
    assert(of("spark.hearth.shuffle.memory" -> "128m").memoryBytes == 128L << 20)
    assert(of("spark.hearth.shuffle.idle" -> "busy").wire.idling == Idling.BUSY)
    assert(
      settings.wire.transports == Transports.TCP && settings.timeoutNs == 7L * 1000 * 1000 * 1000
    )
    assert(of("spark.shuffle.io.connectionTimeout" -> "3s").timeoutNs == 3L * 1000 * 1000 * 1000)
  }

  test(
    "whoever asks for encryption between hosts gets Spark's own transfer, and the key is named"
  ) {
    val keys = Seq(
      "spark.network.crypto.enabled",
      "spark.authenticate.enableSaslEncryption",
      "spark.ssl.rpc.enabled"
    )
    for (key <- keys) assert(of(key -> "true").whyNot.exists(_.startsWith(key)), key)
    assert(
      of("spark.io.encryption.enabled" -> "true").whyNot.isEmpty,
      "the files themselves are encrypted"
    )
    assert(of("spark.authenticate" -> "true").whyNot.isEmpty, "both sides prove the secret")
  }

  test("blocks of the external shuffle service are Spark's") {
    assert(
      of("spark.shuffle.service.enabled" -> "true").whyNot
        .exists(_.startsWith("spark.shuffle.service.enabled"))
    )
  }
}
