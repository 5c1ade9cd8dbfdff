package io.hearth.core.plan

import scala.collection.immutable.AbstractMap
import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

/** The settings of a plan are those that hearth derived; what the user set is his. */
class DerivedSettingsTest extends AnyFunSuite with Planning {
  private val big = "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads"
  private val small = "1 node of 16 GB, 4 cores"
  private val dynamic = Map("spark.dynamicAllocation.enabled" -> "true")
  private val tables = Workload(Some(WorkloadKind.Sql), Some(1L << 34))

  private def plan(machine: String, conf: Map[String, String]): Plan =
    planned(described(machine), Limits.none.copy(conf = conf), tables)

  /** Machine and settings of the user's under which a plan sets a key. */
  private def derivedFrom(key: String): (String, Map[String, String]) = key match {
    case DerivedSettings.DriverOptions => (small, Map.empty)
    case "spark.dynamicAllocation.maxExecutors" => (big, dynamic)
    case OperatorPages.Key => (big, Map("spark.memory.offHeap.enabled" -> "false"))
    case Engine.ShuffleManagerKey =>
      (big, Map(Engine.PluginsKey -> "org.apache.spark.CometPlugin"))
    case _ => (big, Map.empty)
  }

  /** What a user could have set there. */
  private def another(key: String): String = key match {
    case DerivedSettings.DriverOptions => "-Dsecret=mine"
    case "spark.local.dir" => "/ssd"
    case "spark.memory.offHeap.enabled" => "false"
    case k if k.startsWith("spark.locality.wait") || k.endsWith("interval") => "7s"
    case k if k.contains("emory") => "700m"
    case _ => "3"
  }

  test("a key that hearth derives is in its plan, and is not where the user set it") {
    for (key <- DerivedSettings.Derived) withClue(key) {
      val (machine, conf) = derivedFrom(key)
      assert(plan(machine, conf).conf.contains(key))
      val users = plan(machine, conf + (key -> another(key)))
      if (key == DerivedSettings.DriverOptions) assert(!users.conf(key).contains("secret"))
      else assert(!users.conf.contains(key))
    }
  }

  test("a plan sets no key beyond those that are known to be derived") {
    for (machine <- Seq(big, small); conf <- Seq(Map.empty[String, String], dynamic))
      assert(plan(machine, conf).conf.keySet.subsetOf(DerivedSettings.Derived))
  }

  test("settings that a plan has nothing to do with are nowhere in it") {
    val secret = Map("spark.authenticate.secret" -> "hush", "spark.driver.port" -> "7077")
    val document = PlanJson.write(plan(big, secret)).toString
    assert(!document.contains("hush") && !document.contains("7077"))
  }

  test("a plan rests on no key of the user's but those that are known") {
    val seen = mutable.Set.empty[String]
    final class Watched(known: Map[String, String]) extends AbstractMap[String, String] {
      override def get(key: String): Option[String] = {
        seen += key
        known.get(key)
      }
      override def iterator: Iterator[(String, String)] = known.iterator
      override def removed(key: String): Map[String, String] = new Watched(known.removed(key))
      override def updated[V >: String](key: String, value: V): Map[String, V] =
        known.updated(key, value)
    }
    plan(big, new Watched(dynamic))
    assert(
      seen.size > 10 && seen.toSet.removedAll(Seq("spark.master")).subsetOf(DerivedSettings.Read)
    )
  }
}
