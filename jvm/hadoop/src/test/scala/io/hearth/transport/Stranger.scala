package io.hearth.transport

import java.net.InetSocketAddress
import java.util.concurrent.TimeUnit

/** A peer that has been let in and does not keep to the protocol. */
final class Stranger(at: InetSocketAddress) extends AutoCloseable {
  private val wire =
    Wire.open(WireSettings.defaults.withTransports(WireSettings.Transports.TCP), _ => ())
  private val connection = wire.connect(at).get(60, TimeUnit.SECONDS)

  /** Says that a request of so many bytes comes, and sends none of them. */
  def announce(bytes: Int): Unit = {
    val field = classOf[Connection].getDeclaredField("parameters")
    field.setAccessible(true)
    val token = field.get(connection).asInstanceOf[Connection.ConnectionParameters].there
    connection.withLink { link =>
      val frame = connection.buffer(0)
      Frame.write(frame.whole, token, 1, bytes, Frame.Kind.REQUEST, 0, 0)
      link.send(frame, java.util.List.of[FilePart]())
    }
  }

  def isThere: Boolean = !connection.end.isDone

  override def close(): Unit = wire.close()
}
