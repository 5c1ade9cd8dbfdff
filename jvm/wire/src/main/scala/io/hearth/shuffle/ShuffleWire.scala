package io.hearth.shuffle

import java.net.{InetAddress, InetSocketAddress}
import java.util.concurrent.{
  CompletableFuture,
  Executor,
  Executors,
  ScheduledThreadPoolExecutor,
  ThreadFactory
}
import java.util.concurrent.atomic.AtomicInteger

import io.hearth.transport.{Connection, Counters, Wire, WireSettings}

/**
 * An executor's end of the wires for shuffle blocks: it serves its own blocks and fetches those of others. All is put
 * together here.
 */
final class ShuffleWire private (wire: Wire, parts: ShuffleWire.Parts, memoryBytes: Long)
    extends AutoCloseable {
  import ShuffleWire._

  val traffic = new Traffic
  private val workers = new ScheduledThreadPoolExecutor(parts.threads, daemons("hearth-shuffle"))
  workers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false)
  private val waiters = Executors.newCachedThreadPool(daemons("hearth-shuffle-waiter"))
  private val peers =
    new ExecutorConnections(wire, parts.directory, parts.say, () => System.nanoTime())
  private val retained = new RetainedBudget(memoryBytes / 2)
  private val limits = BlockFetch.Limits(PieceBytes, Parallel, parts.timeoutNs)

  /** Where it listens. */
  val where: InetSocketAddress =
    wire.listen(
      new InetSocketAddress(parts.host, parts.port),
      new BlockServer(parts.find, workers, traffic)
    )

  /** Why there is no UCX here; empty where there is. */
  def whyNoUcx: String = wire.whyNoUcx

  def counters: Counters = wire.counters

  /** For what may wait. */
  def mayWait: Executor = waiters

  /** The wire to an executor, or why there is none. */
  def peer(executor: String): CompletableFuture[Either[String, Connection]] = peers.to(executor)

  /** Fetches blocks of that executor; `sink` hears of each, on threads of the wire. */
  def fetch(
      executor: String,
      connection: Connection,
      blocks: IndexedSeq[String],
      sink: FetchSink
  ): Unit = {
    val watched = new FetchSink {
      override def room(bytes: Int): Chunk = sink.room(bytes)
      override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit =
        sink.arrived(block, chunks)
      override def failed(missing: IndexedSeq[String], why: Throwable): Unit = {
        peers.failed(executor, connection, why)
        sink.failed(missing, why)
      }
    }
    blocks
      .grouped(FetchRequest.MaxBlocks)
      .foreach(new BlockFetch(connection, _, watched, limits, retained, workers, traffic).start())
  }

  /** Ends all connections: what is being fetched fails. */
  override def close(): Unit = {
    wire.close()
    workers.shutdown()
    waiters.shutdown()
  }
}

object ShuffleWire {

  /** Of one answer: beyond it a message costs as much for each byte, and holds memory for longer. */
  private val PieceBytes = 1 << 20

  /** Answers of one fetch under way. */
  private val Parallel = 4

  private val MaxMessageBytes = 2 << 20

  /**
   * @param host at which it listens, and nowhere else
   * @param find where a block of this executor lies; throws where there is none
   * @param say gets one line for each kind of trouble
   * @param timeoutNs after which a peer that does not answer is given up
   */
  final case class Parts(
      settings: WireSettings,
      host: InetAddress,
      port: Int,
      threads: Int,
      timeoutNs: Long,
      find: String => Segment,
      directory: ExecutorDirectory,
      say: String => Unit
  )

  /** @throws java.io.IOException where it cannot listen there, or a transport that must be used cannot be had */
  def open(parts: Parts, memoryBytes: Long): ShuffleWire = {
    val wire =
      Wire.open(
        parts.settings.withMemory(memoryBytes, parts.settings.windowBytes, MaxMessageBytes),
        line => parts.say(line)
      )
    try new ShuffleWire(wire, parts, memoryBytes)
    catch {
      case trouble: Throwable =>
        wire.close()
        throw trouble
    }
  }

  private def daemons(name: String): ThreadFactory = {
    val count = new AtomicInteger
    work => {
      val thread = new Thread(work, s"$name-${count.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }
}
