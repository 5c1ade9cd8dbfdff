package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.EXECUTOR_JAVA_OPTIONS
import org.apache.spark.launcher.JavaModuleOptions
import org.apache.spark.util.Utils

import io.hearth.core.plan.JavaOptions

/** What the user set of the keys that a plan decides, told from what SparkContext has added by itself. */
private[spark] object UserSettings {

  private val planned = Vector(
    "spark.executor.",
    "spark.memory.",
    "spark.cores.max",
    "spark.task.",
    "spark.local.dir",
    "spark.sql.shuffle.partitions",
    "spark.default.parallelism",
    "spark.dynamicAllocation.",
    "spark.locality.wait",
    "spark.scheduler.revive.interval",
    "spark.driver.memory"
  )

  def of(conf: SparkConf): Map[String, String] = {
    val keys = conf.getAll.toMap.filter { case (key, _) => planned.exists(key.startsWith) }
    val options = executorJavaOptions(conf)
    val settings = keys.removed("spark.executor.id").removed(EXECUTOR_JAVA_OPTIONS.key)
    if (options.isEmpty) settings
    else settings.updated(EXECUTOR_JAVA_OPTIONS.key, JavaOptions.join(options))
  }

  /** The user's JVM options for executors, without the module options that SparkContext puts before them. */
  def executorJavaOptions(conf: SparkConf): Vector[String] = {
    val modules = JavaModuleOptions.defaultModuleOptionArray.toVector ++
      Utils.splitCommandString(JavaModuleOptions.defaultModuleOptions)
    val all = conf.get(EXECUTOR_JAVA_OPTIONS).map(Utils.splitCommandString).getOrElse(Nil).toVector
    all.filterNot(option =>
      modules.contains(option) || option.startsWith("-Djava.net.preferIPv6Addresses=")
    )
  }
}
