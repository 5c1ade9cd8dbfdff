package io.hearth.core.cli

import io.hearth.core.UserError
import io.hearth.core.bandwidth.{NodeBandwidth, SustainedBandwidth}
import io.hearth.core.json.Json
import io.hearth.core.topology.TopologyReader

/** `bandwidth`: what the memory of each node of this machine sustains (contract/bandwidth.schema.json). */
private[cli] object BandwidthVerb {
  private val Repetitions = 10

  def apply(args: Vector[String]): String = {
    if (args.nonEmpty)
      throw new UserError(s"bandwidth takes no arguments, not '${args.mkString(" ")}'")
    // Half of the heap: the collector may need to move what it cannot place at once.
    val memory = Runtime.getRuntime.maxMemory / 2
    Json.pretty(
      document(SustainedBandwidth.measure(TopologyReader.load(None), Repetitions, memory))
    )
  }

  private def document(nodes: Vector[NodeBandwidth]) = {
    val document = Json.obj().put("schema", "hearth/bandwidth/1").put("kernel", "triad")
    document.put("repetitions", Repetitions)
    val byNode = document.putObject("nodes")
    nodes.foreach { node =>
      val entry = byNode.putObject(node.node.toString)
      entry.put("best_gb_s", rounded(node.best)).put("median_gb_s", rounded(node.median))
      entry.put("threads", node.threads).put("array_mb", node.arrayBytes >> 20)
      node.cacheBytes.foreach(bytes => entry.put("cache_mb", bytes >> 20))
      entry.put("beyond_caches", node.beyondCaches)
    }
    document
  }

  private def rounded(value: Double): Double = math.round(value * 100) / 100.0
}
