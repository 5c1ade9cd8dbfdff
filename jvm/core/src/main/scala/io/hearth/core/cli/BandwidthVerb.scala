package io.hearth.core.cli

import io.hearth.core.UserError
import io.hearth.core.bandwidth.{NodeBandwidth, SustainedBandwidth}
import io.hearth.core.json.Json
import io.hearth.core.topology.TopologyReader

/** `bandwidth`: what the memory of each node of this machine sustains (contract/examples/bandwidth.json). */
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

  private[cli] def document(nodes: Vector[NodeBandwidth]) = Json.obj(
    "schema" -> "hearth/bandwidth/1",
    "kernel" -> "triad",
    "repetitions" -> Repetitions,
    "nodes" -> nodes.map { node =>
      node.node -> Json.obj(
        "best_gb_s" -> rounded(node.best),
        "median_gb_s" -> rounded(node.median),
        "threads" -> node.threads,
        "array_mb" -> (node.arrayBytes >> 20),
        "cache_mb" -> node.cacheBytes.map(_ >> 20),
        "beyond_caches" -> node.beyondCaches
      )
    }.toMap
  )

  private def rounded(value: Double): Double = math.round(value * 100) / 100.0
}
