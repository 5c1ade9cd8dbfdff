package org.apache.spark.scheduler.cluster.numa

import java.nio.file.Path

import org.apache.spark.SparkConf
import org.apache.spark.deploy.StandaloneResourceUtils
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{SPARK_EXECUTOR_PREFIX, SPARK_TASK_PREFIX}
import org.apache.spark.resource.{ResourceInformation, ResourceProfile, ResourceUtils}

import io.hearth.core.UserError
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.GpuNodes
import io.hearth.driver.ResourceShares

/**
 * Custom resources (`spark.executor.resource.*`), divided among the plan's places as a standalone worker
 * divides its own among executors: found once, on this machine, by the user's discovery script. Left to
 * themselves, all executors would find and use the same ones.
 *
 * @param contained whether executors have containers, in which a share of numbered GPUs is 0, 1, ...
 */
private[spark] class ExecutorResources(
    conf: SparkConf,
    places: Vector[ExecutorPlan],
    nodes: GpuNodes,
    contained: Boolean
) extends Logging {

  // Written once, before executors start; read by the pool's thread.
  @volatile private var shares = Map.empty[Int, Map[String, ResourceInformation]]

  /** Finds and divides them. @throws UserError when there are fewer than the plan's executors need */
  def open(): Unit = {
    shares = divide()
    shares.toVector.sortBy(_._1).foreach { case (place, resources) =>
      resources.values.foreach(r =>
        logInfo(s"Place $place has ${r.name} ${r.addresses.map(withNode).mkString(", ")}")
      )
    }
  }

  /** Writes the file that tells an executor its share; absent when there are no custom resources. */
  def writeFile(place: ExecutorPlan, directory: Path): Option[Path] =
    shares
      .get(place.id)
      .flatMap(share =>
        StandaloneResourceUtils.prepareResourcesFile(
          SPARK_EXECUTOR_PREFIX,
          share.map { case (name, all) => name -> (if (contained) asInside(all) else all) },
          directory.toFile
        )
      )
      .map(_.toPath)

  /** Of the resource `gpu`: numbers or UUIDs. */
  def gpus(place: ExecutorPlan): Vector[String] =
    shares.get(place.id).flatMap(_.get(ResourceUtils.GPU)).toVector.flatMap(_.addresses)

  private def divide(): Map[Int, Map[String, ResourceInformation]] = {
    val profile = ResourceProfile.getOrCreateDefaultProfile(conf)
    val wanted = profile.getCustomExecutorResources()
    val discovered =
      if (wanted.isEmpty) Map.empty[String, ResourceInformation]
      else
        ResourceUtils.getOrDiscoverAllResourcesForResourceProfile(
          None,
          SPARK_EXECUTOR_PREFIX,
          profile,
          conf
        )
    val parts = for {
      (name, request) <- wanted.toVector
      addresses = discovered(name).addresses.toVector
      (place, mine) <-
        ResourceShares.divide(
          s"$SPARK_EXECUTOR_PREFIX.resource.$name.amount",
          "the master local-numa[N]",
          addresses,
          request.amount.toInt,
          places,
          nodes.nodeOf
        )
    } yield (place, name -> new ResourceInformation(name, mine.toArray))
    parts.groupMap(_._1)(_._2).map { case (place, of) => place -> of.toMap }
  }

  private def asInside(all: ResourceInformation): ResourceInformation =
    if (all.name == ResourceUtils.GPU && all.addresses.forall(_.forall(_.isDigit)))
      new ResourceInformation(all.name, all.addresses.indices.map(_.toString).toArray)
    else all

  private def withNode(address: String): String =
    nodes.nodeOf(address).fold(s"$address (node not known)")(node => s"$address (node $node)")
}

private[spark] object ExecutorResources {

  /** Spark's local scheduler gives tasks no custom resources: an application would wait for ever. */
  def refuse(conf: SparkConf): Unit =
    for {
      prefix <- Seq(SPARK_TASK_PREFIX, SPARK_EXECUTOR_PREFIX)
      resource <- ResourceUtils.parseResourceRequirements(conf, prefix).headOption
    } throw new UserError(
      s"$prefix.resource.${resource.resourceName}.amount: the plan is one JVM, in which Spark's local " +
        "scheduler has no resources to give; ask for executors with the master local-numa[N]"
    )
}
