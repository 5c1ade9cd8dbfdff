package io.hearth.shuffle

import java.net.{InetAddress, InetSocketAddress}
import java.nio.ByteBuffer
import java.nio.file.{Files, Path}
import java.util.concurrent.{
  ConcurrentHashMap,
  ConcurrentLinkedQueue,
  CountDownLatch,
  Executor,
  Executors,
  TimeUnit
}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.Assertions

import io.hearth.transport.{Connection, Service, Wire, WireSettings, Wires}

/** Two sides of a wire over TCP in this JVM: one serves the blocks of a file, the other fetches them. */
final class Exchange(
    sizes: IndexedSeq[Int],
    limits: BlockFetch.Limits = BlockFetch.Limits(1 << 16, 3, 10L * 1000 * 1000 * 1000),
    service: Option[Service] = None,
    keptBytes: Long = Exchange.MemoryBytes / 2
) extends AutoCloseable
    with Assertions {
  val blocks: IndexedSeq[String] = sizes.indices.map(i => s"shuffle_0_${i}_0")
  val content: Array[Byte] = new Random(7).nextBytes(sizes.sum + 3)
  val file: Path = Files.write(Files.createTempFile("hearth-blocks", ".data"), content)
  val traffic = new Traffic
  private val starts = sizes.scanLeft(3)(_ + _)
  private val workers = Executors.newScheduledThreadPool(3)
  private val retained = new RetainedBudget(keptBytes)
  val server: Wire = Wire.open(Exchange.settings, _ => ())
  val client: Wire = Wire.open(Exchange.settings, _ => ())
  val where: InetSocketAddress = server.listen(
    new InetSocketAddress(InetAddress.getLoopbackAddress, 0),
    service.getOrElse(new BlockServer(segment, workers, traffic))
  )
  lazy val connection: Connection = client.connect(where).get(60, TimeUnit.SECONDS)

  private def segment(name: String): Segment = blocks.indexOf(name) match {
    case -1 => throw new IllegalArgumentException(s"there is no $name")
    case i => Segment(file, starts(i).toLong, sizes(i).toLong)
  }

  def expected(i: Int): Seq[Byte] = content.slice(starts(i), starts(i) + sizes(i)).toSeq

  /** Fetches these, and waits until each has arrived or failed. */
  def fetch(
      wanted: IndexedSeq[String] = blocks,
      sink: Exchange.Landed = new Exchange.Landed,
      workers: Option[Executor] = None
  ): Exchange.Landed = {
    sink.expect(wanted.size)
    val own = workers.getOrElse(this.workers)
    new BlockFetch(connection, wanted, sink, limits, retained, own, traffic).start()
    sink.await()
    sink
  }

  /** The last answer is closed a moment after its last block has arrived. */
  def allMemoryIsBack(): Unit = {
    def buffers = Seq(server, client).map(_.counters.buffers)
    Wires.eventually(s"no buffer is used: $buffers")(buffers.sum == 0)
  }

  override def close(): Unit = {
    client.close()
    server.close()
    workers.shutdownNow()
    Files.delete(file)
  }
}

object Exchange {
  val MemoryBytes: Long = 16L << 20

  val settings: WireSettings = Wires.settings
    .withTransports(WireSettings.Transports.TCP)
    .withMemory(MemoryBytes, 4 << 20, 2 << 20)

  /** What came of a fetch. */
  class Landed extends FetchSink with Assertions {
    val arrived = new ConcurrentHashMap[String, Seq[Byte]]
    val missing = new ConcurrentHashMap[String, Throwable]
    val twice = new ConcurrentLinkedQueue[String]
    val copies = new AtomicInteger

    /** Those that nobody has freed. */
    val open = new AtomicInteger
    @volatile private var left = new CountDownLatch(0)

    def expect(blocks: Int): Unit = left = new CountDownLatch(blocks)
    def await(): Unit =
      assert(left.await(60, TimeUnit.SECONDS), s"after 60 s ${left.getCount} blocks are open")

    override def room(bytes: Int): Chunk = {
      copies.incrementAndGet()
      open.incrementAndGet()
      Chunk(ByteBuffer.allocate(bytes), () => { open.decrementAndGet(); () })
    }

    override def arrived(block: String, chunks: IndexedSeq[Chunk]): Unit = {
      val content = ByteBuffer.allocate(chunks.map(_.bytes.remaining).sum)
      chunks.foreach(chunk => content.put(chunk.bytes))
      chunks.foreach(_.free())
      over(block, arrived.put(block, content.array.toSeq))
    }

    override def failed(blocks: IndexedSeq[String], why: Throwable): Unit =
      blocks.foreach(block => over(block, missing.put(block, why)))

    private def over(block: String, before: Any): Unit = {
      if (before != null) twice.add(block)
      left.countDown()
    }

    def reasons: Set[String] = missing.values.asScala.map(_.getMessage).toSet
  }
}
