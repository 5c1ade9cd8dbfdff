package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.{EXECUTOR_JAVA_OPTIONS, EXECUTOR_MEMORY}
import org.apache.spark.launcher.{JavaModuleOptions, SparkLauncher}
import org.apache.spark.util.Utils

import io.hearth.core.plan.{JavaOptions, DerivedSettings}

/** What the user set of the keys that a plan reads or sets, without those that SparkContext has added by itself. */
private[spark] object UserSettings {

  /** Read when the driver's JVM starts: a program comes too late for them, with Spark as with hearth. */
  private val ofDriversStart = Set("spark.driver.memory", "spark.driver.extraJavaOptions")

  /**
   * @param environment that of the driver; what Spark itself takes from it counts
   *                    (SparkContext.executorMemoryInMb, Utils.getConfiguredLocalDirs of Spark 4.3)
   */
  def of(conf: SparkConf, environment: Map[String, String]): Map[String, String] = {
    val set = known(conf.getAll.toMap)
    val memory = environment.get("SPARK_EXECUTOR_MEMORY").orElse(environment.get("SPARK_MEM"))
    memory.map(EXECUTOR_MEMORY.key -> _).toMap ++ set ++
      environment.get("SPARK_LOCAL_DIRS").map("spark.local.dir" -> _)
  }

  /**
   * Of the settings on which a plan rests those that the program made itself: they differ from those
   * of the command line and the files.
   *
   * @param submitted the system properties, in which SparkSubmit leaves those (JavaMainApplication)
   */
  def ofProgram(conf: SparkConf, submitted: Map[String, String]): Map[String, String] = {
    val (now, before) = (known(conf.getAll.toMap), known(submitted))
    now.filter { case (key, value) =>
      DerivedSettings.isRead(key) && !ofDriversStart(key) && !before.get(key).contains(value)
    }
  }

  private def known(settings: Map[String, String]): Map[String, String] = {
    val options = extra(settings.get)
    val keys = settings.filter { case (key, _) => DerivedSettings.known(key) }
    val rest = keys.removed(EXECUTOR_JAVA_OPTIONS.key)
    if (options.isEmpty) rest
    else rest.updated(EXECUTOR_JAVA_OPTIONS.key, JavaOptions.join(options))
  }

  def executorJavaOptions(conf: SparkConf): Vector[String] =
    default(conf.getOption) ++ extra(conf.getOption)

  private def default(setting: String => Option[String]) =
    ofUsers(setting(SparkLauncher.EXECUTOR_DEFAULT_JAVA_OPTIONS))

  /** SparkContext puts the default options before the others, and still adds them itself. */
  private def extra(setting: String => Option[String]): Vector[String] = {
    val options = ofUsers(setting(EXECUTOR_JAVA_OPTIONS.key))
    val before = default(setting)
    if (options.startsWith(before)) options.drop(before.size) else options
  }

  /** The user's JVM options for executors, without the module options that SparkContext puts before them. */
  private def ofUsers(options: Option[String]): Vector[String] = {
    val modules = JavaModuleOptions.defaultModuleOptionArray.toVector ++
      Utils.splitCommandString(JavaModuleOptions.defaultModuleOptions)
    val all = options.map(Utils.splitCommandString).getOrElse(Nil).toVector
    all.filterNot(option =>
      modules.contains(option) || option.startsWith("-Djava.net.preferIPv6Addresses=")
    )
  }
}
