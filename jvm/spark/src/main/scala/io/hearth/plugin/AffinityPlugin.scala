package io.hearth.plugin

import java.util.{Collections, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}

import io.hearth.affinity.{Agent, JnaScheduling, Settings}
import io.hearth.core.plan.HearthKeys

/**
 * `spark.plugins=io.hearth.plugin.AffinityPlugin`: communication threads of the driver and of each executor
 * near the network device, on any master. `spark.hearth.affinity` takes what the agent's argument takes.
 */
final class AffinityPlugin extends SparkPlugin {

  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
      AffinityPlugin.begin(context.conf)
      Collections.emptyMap()
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, extraConf: JMap[String, String]): Unit =
      AffinityPlugin.begin(context.conf)
  }
}

private object AffinityPlugin {

  /** @throws io.hearth.affinity.Refused where the settings cannot be followed: Spark ends with it */
  def begin(conf: SparkConf): Unit = {
    val text = conf.get(HearthKeys.Affinity.name, "")
    Agent.begin(
      Settings.parse(text, sys.env.asJava, sys.props.getOrElse("os.arch", "")),
      () => new JnaScheduling
    )
  }
}
