package io.hearth.driver

import java.io.{BufferedWriter, File, IOException, OutputStreamWriter}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicReference

import scala.util.Using

/**
 * A small shell process that waits for this JVM to end, however it ends, and then ends the executors that
 * are left and removes the temporary directories named to it: what `kill -9` of the driver leaves undone.
 * It may fail, with one warning: the next application then clears up.
 *
 * It leads a session of its own, so that Ctrl-C does not reach it. Thread-safe.
 *
 * @param start starts it
 */
final class Reaper(bestEffort: BestEffort, start: () => Process = () => Reaper.start())
    extends AutoCloseable {
  private val running = new AtomicReference[Option[(Process, BufferedWriter)]](None)

  def open(): Unit = running.set(bestEffort.attempt {
    val process = start()
    process -> new BufferedWriter(new OutputStreamWriter(process.getOutputStream, UTF_8))
  })

  /** @param startTicks field 22 of `/proc/PID/stat`, which tells a process from a later one of the same id */
  def watch(pid: Long, startTicks: Long): Unit = say(s"process $pid $startTicks")

  /** @param pid of the engine's client, which ends with the container of this name */
  def watchClient(pid: Long, startTicks: Long, container: String): Unit =
    say(s"client $pid $startTicks $container")

  def removeLater(directory: Path): Unit = say(s"directory $directory")

  def markAbandoned(run: Path): Unit = say(s"file $run")

  /** The driver has cleaned up itself. */
  override def close(): Unit = {
    say("quit")
    ownerGone()
  }

  /** What the kernel does when this JVM ends: closes the pipe. */
  private[driver] def ownerGone(): Unit =
    running.get.foreach { case (_, input) => bestEffort.attempt(input.close()) }

  private def say(line: String): Unit = running.get.foreach { case (process, input) =>
    bestEffort.attempt(synchronized {
      // Lines are what it reads.
      if (line.contains('\n'))
        throw new IOException(s"a line break in '${line.replace('\n', ' ')}'")
      try {
        input.write(line + "\n")
        input.flush()
      } catch {
        case e: IOException =>
          throw new IOException(s"the reaper (process ${process.pid}) is gone: ${e.getMessage}", e)
      }
    })
  }
}

object Reaper {
  private[driver] def start(): Process = {
    val script = Using.resource(getClass.getResourceAsStream("reaper.sh"))(in =>
      new String(in.readAllBytes(), UTF_8)
    )
    val builder = new ProcessBuilder("setsid", "sh", "-c", script, "hearth-reaper")
    builder.redirectOutput(new File("/dev/null")).redirectError(new File("/dev/null"))
    builder.start()
  }
}
