package io.hearth.core.bandwidth

import java.util.concurrent.{Callable, CyclicBarrier, ExecutionException, Executors, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.UserError
import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.topology.{IdSet, NumaNode, Topology}

/**
 * What one node's CPUs sustain from its own memory.
 *
 * @param gbPerSecond 10^9 bytes per second of each repetition, warm-up dropped
 * @param threads one on each CPU that may be used
 * @param arrayBytes size of each of the three arrays, all threads together
 * @param cacheBytes the node's last-level caches together; absent where unknown
 */
final case class NodeBandwidth(
    node: Int,
    gbPerSecond: Vector[Double],
    threads: Int,
    arrayBytes: Long,
    cacheBytes: Option[Long]
) {
  def best: Double = gbPerSecond.max

  def median: Double = {
    val sorted = gbPerSecond.sorted
    val middle = sorted.size / 2
    if (sorted.size % 2 == 1) sorted(middle) else (sorted(middle - 1) + sorted(middle)) / 2
  }

  /** Whether the arrays are so much larger than the caches that memory is what was measured. */
  def beyondCaches: Boolean =
    cacheBytes.forall(arrayBytes >= SustainedBandwidth.CacheMultiple * _)
}

/**
 * The sustained bandwidth of each NUMA node by a triad, `a(i) = b(i) + s * c(i)`, over arrays of at least
 * four times the last-level cache, as STREAM prescribes; counted are 24 bytes an element, as in STREAM.
 *
 * Each thread is bound to its node's CPUs and memory, and is the first to touch its part of the arrays.
 */
object SustainedBandwidth {

  /** STREAM's rule for the size of an array. */
  val CacheMultiple = 4
  private val BytesOfElement = 8
  private val Arrays = 3
  private val WarmUps = 3
  private val SmallestArray = 64L << 20
  private val Scalar = 3.0
  private val LimitSeconds = 120L

  /**
   * Measures the nodes one after another.
   *
   * @param memoryBytes what the arrays of one node may take together; a node whose arrays would need
   *                    more is measured with smaller ones, see [[NodeBandwidth.beyondCaches]]
   */
  def measure(topology: Topology, repetitions: Int, memoryBytes: Long): Vector[NodeBandwidth] = {
    val nodes = topology.nodes.filter { node =>
      topology.allowed.nodes.contains(node.id) && (node.cpus & topology.allowed.cpus).nonEmpty
    }
    if (nodes.isEmpty)
      throw new UserError(
        "no NUMA node has both CPUs and memory that may be used: see hearth topology"
      )
    nodes.map(ofNode(topology, _, repetitions, memoryBytes))
  }

  private def ofNode(
      topology: Topology,
      node: NumaNode,
      repetitions: Int,
      memoryBytes: Long
  ): NodeBandwidth = {
    val cpus = node.cpus & topology.allowed.cpus
    val caches = topology.caches.filter(_.cpus.intersects(node.cpus)).map(_.sizeBytes)
    val cacheBytes =
      if (caches.nonEmpty && caches.forall(_.nonEmpty)) Some(caches.flatten.sum) else None
    val wanted = SmallestArray.max(CacheMultiple * cacheBytes.getOrElse(0L))
    val elements = (wanted.min(memoryBytes / Arrays) / cpus.size / BytesOfElement).toInt
    val seconds = run(node.id, cpus, elements, repetitions + WarmUps).drop(WarmUps)
    val arrayBytes = elements.toLong * BytesOfElement * cpus.size
    val rates = seconds.map(gbPerSecond(arrayBytes, _))
    NodeBandwidth(node.id, rates, cpus.size, arrayBytes, cacheBytes)
  }

  /** A triad reads two arrays and writes one: 24 bytes an element. */
  private[bandwidth] def gbPerSecond(arrayBytes: Long, seconds: Double): Double =
    arrayBytes * Arrays / seconds / 1e9

  /** Seconds of each repetition, from the common start to the end of the last thread. */
  private def run(node: Int, cpus: IdSet, elements: Int, repetitions: Int): Vector[Double] = {
    val barrier = new CyclicBarrier(cpus.size)
    val work: Callable[Vector[(Long, Long)]] = () => {
      LinuxScheduling.bindThreadToCpus(cpus)
      LinuxScheduling.confineThreadToNodes(IdSet(node))
      val part = new Part(elements)
      Vector.fill(repetitions) {
        val _ = barrier.await(LimitSeconds, TimeUnit.SECONDS)
        val begin = System.nanoTime()
        part.triad(Scalar)
        (begin, System.nanoTime())
      }
    }
    val times = Using.resource(new Threads(cpus.size))(_.all(work))
    Vector.tabulate(repetitions) { n =>
      (times.map(_(n)._2).max - times.map(_(n)._1).min) / 1e9
    }
  }

  /** One thread's part of the arrays. */
  final private[bandwidth] class Part(elements: Int) {
    private[bandwidth] val a = new Array[Double](elements)
    private val b = Array.fill(elements)(1.0)
    private val c = Array.fill(elements)(2.0)

    def triad(scalar: Double): Unit = {
      var i = 0
      while (i < elements) {
        a(i) = b(i) + scalar * c(i)
        i += 1
      }
    }
  }

  /** Threads of their own, since a binding stays with its thread. */
  final private class Threads(count: Int) extends AutoCloseable {
    private val service = Executors.newFixedThreadPool(count)

    def all[T](work: Callable[T]): Vector[T] =
      try service.invokeAll(Vector.fill(count)(work).asJava).asScala.toVector.map(_.get)
      catch { case e: ExecutionException => throw e.getCause }

    override def close(): Unit = {
      val _ = service.shutdownNow()
    }
  }
}
