package io.hearth.driver.testing

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, InputStream, OutputStream}
import java.util.concurrent.CompletableFuture

/**
 * A process that ends when a test says so, or as it obeys signals.
 *
 * @param heedsTerm whether SIGTERM ends it
 * @param heedsKill whether SIGKILL does, as of a process in an uninterruptible wait it does not
 */
class FakeProcess(
    override val pid: Long,
    heedsTerm: Boolean = true,
    heedsKill: Boolean = true
) extends Process {
  private val ended = new CompletableFuture[Process]()
  private var code = Option.empty[Int]
  private val input = new ByteArrayOutputStream

  var signals: Vector[String] = Vector.empty

  /** What was written to its standard input, by lines. */
  def read: Vector[String] = input.toString.linesIterator.toVector

  def exit(status: Int): Unit = if (code.isEmpty) {
    code = Some(status)
    ended.complete(this)
    ()
  }

  override def onExit: CompletableFuture[Process] = ended
  override def isAlive: Boolean = code.isEmpty
  override def exitValue: Int = code.getOrElse(throw new IllegalThreadStateException)
  override def waitFor: Int = exitValue
  override def destroy(): Unit = {
    signals :+= "TERM"
    if (heedsTerm) exit(143)
  }
  override def destroyForcibly(): Process = {
    signals :+= "KILL"
    if (heedsKill) exit(137)
    this
  }
  override def getOutputStream: OutputStream = input
  override def getInputStream: InputStream = new ByteArrayInputStream(Array.emptyByteArray)
  override def getErrorStream: InputStream = getInputStream
}
