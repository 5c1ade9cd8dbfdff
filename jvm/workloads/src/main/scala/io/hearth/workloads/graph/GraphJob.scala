package io.hearth.workloads.graph

import com.fasterxml.jackson.databind.node.ArrayNode
import org.apache.spark.SparkConf
import org.apache.spark.graphx.{Graph, GraphLoader, GraphXUtils, VertexRDD}
import org.apache.spark.storage.StorageLevel

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/** What the jobs on a graph share: its files, its partitions, how Spark writes its classes. */
private[graph] trait GraphJob extends Job {
  val family = "graph"
  val inputs: Seq[Input] = Seq(Input("graph", "graph"))

  protected val partitions: Parameter = Parameter.whole(
    "partitions",
    0,
    "partitions of the edges; 0: as many as Spark's default parallelism",
    min = 0
  )

  /**
   * Kryo with GraphX's classes registered, as its programming guide advises and Baig 2018 did; a
   * `spark.serializer` set by the user stays.
   */
  override def configure(conf: SparkConf): SparkConf = {
    val kryo = new SparkConf(false)
    GraphXUtils.registerKryoClasses(kryo)
    val classes = "spark.kryo.classesToRegister"
    val known = conf.get(classes, "").split(',').filter(_.nonEmpty)
    conf.setIfMissing("spark.serializer", kryo.get("spark.serializer"))
    conf.set(classes, (known ++ kryo.get(classes).split(',')).distinct.mkString(","))
  }

  /** The graph of the edge files, cached: memory first, then disk. */
  protected def load(run: JobRun): Graph[Int, Int] = {
    val context = run.session.sparkContext
    val graph = GraphLoader.edgeListFile(
      context,
      run.input("graph"),
      numEdgePartitions = run.settings.chosen("partitions").getOrElse(context.defaultParallelism),
      edgeStorageLevel = StorageLevel.MEMORY_AND_DISK,
      vertexStorageLevel = StorageLevel.MEMORY_AND_DISK
    )
    graph.vertices.count()
    graph
  }

  /** The values, worked out and in the cache. */
  protected def computed[A](values: VertexRDD[A]): VertexRDD[A] = {
    values.cache().count()
    values
  }

  /** Writes a value for each vertex to files: `vertex TAB value`. */
  protected def write[A](run: JobRun, name: String, values: VertexRDD[A]): Unit =
    values.map { case (vertex, value) => s"$vertex\t$value" }.saveAsTextFile(run.output(name))

  /** The vertices with the largest values; among equals the smaller vertex first. */
  protected def top[A: Ordering](values: VertexRDD[A])(number: A => Double): ArrayNode = {
    val largest = Ordering.by[(Long, A), A](_._2).reverse.orElseBy(_._1)
    Json.array(values.takeOrdered(20)(largest).iterator.map { case (vertex, value) =>
      Json.obj("vertex" -> vertex, "value" -> number(value))
    })
  }
}
