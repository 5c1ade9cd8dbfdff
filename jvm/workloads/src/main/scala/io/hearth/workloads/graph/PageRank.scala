package io.hearth.workloads.graph

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{JobRun, Json, Parameter}

/** Ranks the vertices of a directed graph by its links, in a set number of iterations (S1, S4). */
object PageRank extends GraphJob {
  val name = "page-rank"
  val summary = "the rank of each vertex by its links, a set number of iterations"
  val stresses = "memory bandwidth and latency at random addresses, a shuffle each iteration"
  val published = "20 iterations, about 6 GB (S4); 17 GB in 136 partitions (S1)"
  val parameters = Seq(
    Parameter.whole("iterations", 20, "how often the ranks are passed on", "20 (S4)"),
    Parameter(
      "reset",
      "0.15",
      "probability that a walk starts again at any vertex",
      check = value =>
        if (value.toDoubleOption.exists(reset => reset > 0 && reset < 1)) None
        else Some("a number between 0 and 1")
    ),
    partitions.copy(published = "136 (S1)")
  )

  /** The ranks go to files: `vertex TAB rank`. They sum up to the number of vertices. */
  def run(run: JobRun): ObjectNode = {
    val settings = run.settings
    val graph = run.phase("load")(load(run))
    val ranks = run.phase("rank") {
      val ranks = graph.staticPageRank(settings.int("iterations"), settings.real("reset")).vertices
      ranks.cache().count()
      ranks
    }
    write(run, "ranks", ranks)
    val answer = Json.obj().put("vertices", ranks.count()).put("edges", graph.edges.count())
    answer.put("sum", ranks.values.sum())
    answer.set[JsonNode]("top", top(ranks)(identity))
    answer
  }
}
