package io.hearth.workloads.streaming

import java.io.{BufferedReader, IOException, InputStreamReader}
import java.net.Socket
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.storage.StorageLevel
import org.apache.spark.streaming.receiver.Receiver

/**
 * Receives the lines of a source. Unlike Spark's own socket receiver it does not connect again when
 * the connection ends: events would be missing. It reports the end to the driver, which stops.
 *
 * @param replicated whether another executor keeps a copy of what arrives, as Spark's own does: its
 *   tasks then need not wait for the executor whose slot the receiver holds
 */
final private[streaming] class LineReceiver(address: Address, replicated: Boolean)
    extends Receiver[String](
      if (replicated) StorageLevel.MEMORY_AND_DISK_SER_2 else StorageLevel.MEMORY_AND_DISK_SER
    ) {
  @transient @volatile private var socket: Option[Socket] = None

  def onStart(): Unit = {
    socket = None
    val thread = new Thread(() => receive(), s"lines from $address")
    thread.setDaemon(true)
    thread.start()
  }

  def onStop(): Unit = socket.foreach(_.close())

  private def receive(): Unit =
    try {
      val connection = new Socket(address.host, address.port)
      socket = Some(connection)
      val reader = new BufferedReader(new InputStreamReader(connection.getInputStream, UTF_8))
      Iterator
        .continually(reader.readLine())
        .takeWhile(Option(_).isDefined)
        .foreach(line => store(line))
      ended("it closed the connection")
    } catch { case e: IOException => ended(e.getMessage) }

  private def ended(how: String): Unit =
    if (!isStopped())
      reportError(s"the connection to the source $address was lost ($how)", new IOException(how))
}
