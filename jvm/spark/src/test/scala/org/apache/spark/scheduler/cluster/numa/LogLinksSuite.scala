package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import org.apache.spark.executor.ExecutorLogUrlHandler

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.{ExecutorLaunch, ExecutorSuite}
import io.hearth.driver.testing.Places

/** Links to executors' logs, as a history server makes them of an executor's attributes. */
class LogLinksSuite extends AnyFunSuite {
  private val Prefix = "SPARK_EXECUTOR_ATTRIBUTE_"

  test("the setting on the page leads a history server to each log of an executor") {
    val page = Files.readString(
      Path.of(sys.props.getOrElse("basedir", ".")).resolve("../../docs/running.md")
    )
    val pattern = page.linesIterator.collectFirst {
      case line if line.startsWith("spark.history.custom.executor.log.url=") => line.split('=')(1)
    }
    val started = ExecutorSuite.launch(Places.place(1, "127.78.0.1"))
    val spec = ExecutorLaunch.compose(ExecutorSuite.app, started, Vector.empty, None)
    val attributes = spec.environment.collect {
      case (name, value) if name.startsWith(Prefix) => name.drop(Prefix.length) -> value
    }
    val links =
      new ExecutorLogUrlHandler(pattern).applyPattern(Map("stdout" -> "http://dead"), attributes)
    val at = "http://HOST:PORT/app-1/executors/5"
    assert(links == Map("stdout" -> s"$at/stdout", "stderr" -> s"$at/stderr"))
  }
}
