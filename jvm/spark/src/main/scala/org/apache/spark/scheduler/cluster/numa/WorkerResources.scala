package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.SparkConf
import org.apache.spark.deploy.StandaloneResourceUtils
import org.apache.spark.internal.config.Worker.SPARK_WORKER_PREFIX
import org.apache.spark.resource.{ResourceInformation, ResourceUtils}
import org.apache.spark.util.Utils

import io.hearth.core.UserError
import io.hearth.core.files.OwnFiles
import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.ResourceShares

/**
 * Custom resources of Workers (`spark.worker.resource.*`): found once, as Spark's own Worker does, by the user's
 * resources file or discovery script, and divided among the plan's places. Left to themselves, all Workers of a
 * machine would offer the same ones.
 */
object WorkerResources {

  /**
   * @param javaOptions the user's own for Workers, whose `-Dspark.*` are settings
   * @param directory where a place's resources file is; emptied first
   * @return the options of each place's Worker, which come behind the user's
   * Throws UserError when there are fewer than the places need
   */
  def options(
      javaOptions: Vector[String],
      places: Vector[ExecutorPlan],
      directory: ExecutorPlan => Path,
      nodeOf: String => Option[Int]
  ): Map[Int, Vector[String]] = {
    val conf = settings(javaOptions)
    val parts = for {
      (name, information) <- discovered(conf).toVector
      amount = s"$SPARK_WORKER_PREFIX.resource.$name.amount"
      (place, mine) <- ResourceShares
        .divide(
          amount,
          "--executors",
          information.addresses.toVector,
          conf.getInt(amount, 0),
          places,
          nodeOf
        )
    } yield (place, name -> new ResourceInformation(name, mine.toArray))
    val shares = parts.groupMap(_._1)(_._2)
    places.flatMap(p => shares.get(p.id).map(s => p.id -> written(s.toMap, directory(p)))).toMap
  }

  private def settings(javaOptions: Vector[String]): SparkConf = {
    val conf = new SparkConf(loadDefaults = false)
    javaOptions.foreach {
      case Setting(key, value) => conf.set(key, value)
      case _ => ()
    }
    Utils.loadDefaultSparkProperties(conf)
    conf
  }

  private def discovered(conf: SparkConf): Map[String, ResourceInformation] =
    try
      ResourceUtils
        .getOrDiscoverAllResources(conf, SPARK_WORKER_PREFIX, conf.getOption(ResourcesFile))
    catch {
      case e: Exception => // Spark's own, of any kind: its sentence says what is wrong
        throw new UserError(s"$SPARK_WORKER_PREFIX.resource: ${e.getMessage}")
    }

  private def written(
      share: Map[String, ResourceInformation],
      directory: Path
  ): Vector[String] = {
    Using
      .resource(Files.list(OwnFiles.claim(directory)))(_.iterator.asScala.toVector)
      .foreach(Files.delete)
    StandaloneResourceUtils
      .prepareResourcesFile(SPARK_WORKER_PREFIX, share, directory.toFile)
      .map(file => s"-D$ResourcesFile=$file")
      .toVector
  }

  private val ResourcesFile = "spark.worker.resourcesFile"
  private val Setting = "-D(spark\\.[^=]*)=(.*)".r
}
