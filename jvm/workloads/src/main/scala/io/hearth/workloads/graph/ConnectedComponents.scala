package io.hearth.workloads.graph

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{JobRun, Json}

/** Finds the connected components of a graph, ignoring the direction of edges (Awan 2016). */
object ConnectedComponents extends GraphJob {
  val name = "connected-components"
  val summary = "connected components: each vertex gets the smallest vertex of its component"
  val stresses = "random memory access; shrinking shuffles until nothing changes"
  val published = "about 6 GB (Awan 2016)"
  val parameters = Seq(partitions)

  /** The components are written to files: `vertex TAB smallest vertex of its component`. */
  def run(run: JobRun): ObjectNode = {
    val graph = run.phase("load")(load(run))
    val components = run.phase("connect")(computed(graph.connectedComponents().vertices))
    write(run, "components", components)
    val sizes = components.values.map(_ -> 1L).reduceByKey(_ + _).values.cache()
    Json.obj(
      "vertices" -> components.count(),
      "edges" -> graph.edges.count(),
      "components" -> sizes.count(),
      "largest" -> sizes.max()
    )
  }
}
