package io.hearth.core.bandwidth

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.affinity.LinuxScheduling
import io.hearth.core.topology.{Allowed, CacheGroup, IdSet, NumaNode, TopologyReader}

class SustainedBandwidthSuite extends AnyFunSuite {

  private val live = TopologyReader.load(None)
  private val memory = 96L << 20

  test("every node that may be used is measured, each repetition above zero, on all its CPUs") {
    val measured = SustainedBandwidth.measure(live, repetitions = 3, memory)
    assert(measured.map(_.node).toSet == live.allowed.nodes.toVector.toSet)
    measured.foreach { node =>
      assert(node.gbPerSecond.size == 3)
      // Slower than any memory of this century, or faster than any: the clock or the count is wrong.
      assert(node.gbPerSecond.forall(rate => rate > 0.05 && rate < 5000))
      assert(node.best >= node.median)
      assert(node.arrayBytes <= memory / 3)
      assert(node.threads == (live.node(node.node).get.cpus & live.allowed.cpus).size)
    }
  }

  test("the caller's own CPUs are as they were: only threads of its own were bound") {
    val _ = SustainedBandwidth.measure(live, repetitions = 1, memory)
    assert(LinuxScheduling.cpusOfThread() == live.allowed.cpus)
  }

  test("while it measures, a thread is bound to the CPU allowed and to the memory of its node") {
    val node = live.nodes.filter(_.cpus.intersects(live.allowed.cpus)).last
    val cpu = (node.cpus & live.allowed.cpus).last
    val narrow = live.copy(allowed = live.allowed.copy(cpus = IdSet(cpu)))
    val measuring = new Thread(() => {
      val _ = SustainedBandwidth.measure(narrow, repetitions = 100, memory)
    })
    measuring.start()
    val looks = Iterator.continually(measuring.isAlive -> tasks.exists(isBound(_, cpu, node.id)))
    val last = looks.find { case (measures, bound) => bound || !measures }
    measuring.join()
    assert(last.exists(_._2))
  }

  private def tasks: Vector[Path] =
    Using.resource(Files.list(Path.of("/proc/self/task")))(_.iterator.asScala.toVector)

  /** `numa_maps` of a thread shows the thread's own policy for memory that has none. */
  private def isBound(task: Path, cpu: Int, node: Int): Boolean =
    Try {
      Files.readString(task.resolve("status")).contains(s"Cpus_allowed_list:\t$cpu\n") &&
      Files.readString(task.resolve("numa_maps")).contains(s" bind:$node ")
    }.getOrElse(false) // it has ended meanwhile

  test("a triad over 10^9 elements in a second is 24 GB per second, as STREAM counts") {
    assert(SustainedBandwidth.gbPerSecond(arrayBytes = 8L * 1000 * 1000 * 1000, seconds = 1) == 24)
  }

  test("a triad writes every element") {
    val part = new SustainedBandwidth.Part(1001)
    part.triad(3)
    assert(part.a.forall(_ == 7))
  }

  test("arrays that memory does not allow to be four times the caches are reported as such") {
    val cached = live.copy(caches = Vector(CacheGroup(3, Some(1L << 30), live.cpus)))
    val small = SustainedBandwidth.measure(cached, repetitions = 1, memory)
    assert(small.forall(!_.beyondCaches))
    val tiny = live.copy(caches = Vector(CacheGroup(3, Some(4L << 20), live.cpus)))
    assert(SustainedBandwidth.measure(tiny, repetitions = 1, memory).forall(_.beyondCaches))
  }

  test("the median of an even number of repetitions lies between the middle two") {
    val node = NodeBandwidth(0, Vector(4.0, 1.0, 3.0, 2.0), 1, 1L, None)
    assert((node.best, node.median) == ((4.0, 2.5)))
  }

  test("a machine with no node to use is refused") {
    val nothing = live.copy(
      nodes = Vector(NumaNode(0, IdSet.empty, 1L << 30, None, Map.empty)),
      allowed = Allowed(live.cpus, IdSet(0), None)
    )
    assertThrows[UserError](SustainedBandwidth.measure(nothing, 1, memory))
    val forbidden = live.copy(allowed = live.allowed.copy(nodes = IdSet.empty))
    assertThrows[UserError](SustainedBandwidth.measure(forbidden, 1, memory))
  }
}
