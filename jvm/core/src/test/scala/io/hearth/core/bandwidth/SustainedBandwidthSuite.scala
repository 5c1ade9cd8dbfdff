package io.hearth.core.bandwidth

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
    val before = LinuxScheduling.cpusOfThread()
    val _ = SustainedBandwidth.measure(live, repetitions = 1, memory)
    assert(LinuxScheduling.cpusOfThread() == before)
  }

  test("arrays that memory does not allow to be four times the caches are told as such") {
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
  }
}
