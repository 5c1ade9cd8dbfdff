package io.hearth.workloads.streaming

import java.io.IOException
import java.net.{HttpURLConnection, Proxy, URI}

import io.hearth.workloads.{Json, UserError}

final private[streaming] case class Address(host: String, port: Int) {
  override def toString: String = s"$host:$port"
}

private[streaming] object Address {

  def parse(text: String): Option[Address] = text.split(":") match {
    case Array(host, port) if host.nonEmpty =>
      port.toIntOption.filter(n => n > 0 && n < 65536).map(Address(host, _))
    case _ => None
  }
}

/** The status of a data server; see its verb `serve`. */
final private[streaming] case class SourceStatus(
    sent: Long,
    unsent: Long,
    done: Boolean,
    lateMsMax: Double,
    readerGone: Boolean
)

/** Asks a data server on its control port. */
final private[streaming] class Control(address: Address) {
  private val timeoutMs = 10000

  /** @throws UserError where the server does not answer: it has died */
  def status(): SourceStatus =
    try read()
    catch {
      case e: IOException =>
        throw new UserError(
          s"the data server at $address does not answer (${e.getMessage}): it has died or " +
            "--control is wrong; start it and the job again",
          Some(e)
        )
    }

  private def read(): SourceStatus = {
    val url = URI.create(s"http://$address/status").toURL
    val connection = url.openConnection(Proxy.NO_PROXY).asInstanceOf[HttpURLConnection]
    connection.setConnectTimeout(timeoutMs)
    connection.setReadTimeout(timeoutMs)
    val body = connection.getInputStream
    try {
      val node = Json.read(body)
      SourceStatus(
        sent = node.path("sent").asLong,
        unsent = node.path("unsent").asLong,
        done = node.path("done").asBoolean,
        lateMsMax = node.path("late_ms_max").asDouble,
        readerGone = node.path("reader").asText == "gone"
      )
    } finally body.close()
  }
}
