package io.hearth.workloads.graph

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{JobRun, Json, Parameter}

/** Ranks the vertices of a directed graph by its links (Baig 2018, Awan 2016). */
object PageRank extends GraphJob {
  val name = "page-rank"
  val summary = "the rank of each vertex by its links, in a fixed number of iterations"
  val stresses = "memory bandwidth and latency of random access, a shuffle in each iteration"
  val published = "20 iterations, about 6 GB (Awan 2016); 17 GB in 136 partitions (Baig 2018)"
  val parameters = Seq(
    Parameter.whole("iterations", 20, "number of iterations", "20 (Awan 2016)"),
    Parameter.real(
      "reset",
      0.15,
      "probability that a walk restarts at any vertex",
      limit = "a number between 0 and 1",
      within = reset => reset > 0 && reset < 1
    ),
    partitions.copy(published = "136 (Baig 2018)")
  )

  /** The ranks are written to files: `vertex TAB rank`. They add up to the number of vertices. */
  def run(run: JobRun): ObjectNode = {
    val settings = run.settings
    val graph = run.phase("load")(load(run))
    val ranks = run.phase("rank")(
      computed(
        graph.staticPageRank(settings.int("iterations"), settings.real("reset")).vertices
      )
    )
    write(run, "ranks", ranks)
    Json.obj(
      "vertices" -> ranks.count(),
      "edges" -> graph.edges.count(),
      "sum" -> ranks.values.sum(),
      "top" -> top(ranks)(identity)
    )
  }
}
