package io.hearth.workloads.graph

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.graphx.PartitionStrategy

import io.hearth.workloads.{JobRun, Json}

/**
 * Counts the triangles through each vertex, ignoring direction and repetition of edges (Awan 2016).
 */
object TriangleCount extends GraphJob {
  val name = "triangle-count"
  val summary = "how many triangles go through each vertex"
  val stresses = "memory: sets of neighbours are shipped and intersected; skewed tasks"
  val published = "about 6 GB (Awan 2016)"
  val parameters = Seq(partitions)

  /** The counts are written to files: `vertex TAB triangles`. */
  def run(run: JobRun): ObjectNode = {
    val graph = run.phase("load") {
      val graph = load(run).partitionBy(PartitionStrategy.EdgePartition2D).cache()
      graph.edges.count()
      graph
    }
    val triangles = run.phase("count")(computed(graph.triangleCount().vertices))
    write(run, "triangles", triangles)
    Json.obj(
      "vertices" -> triangles.count(),
      "edges" -> graph.edges.count(),
      // A triangle is counted at each of its three corners.
      "triangles" -> triangles.values.map(_.toLong).fold(0L)(_ + _) / 3,
      "top" -> top(triangles)(_.toDouble)
    )
  }
}
