package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

class SupportedSparkSuite extends AnyFunSuite {
  test("every release of Spark 4.0 to 4.3 is taken, previews and snapshots too") {
    Seq("4.0.0", "4.1.4", "4.2.1", "4.3.0", "4.3.1-SNAPSHOT", "4.0.0-preview2")
      .foreach(SupportedSpark.check)
  }

  test("another Spark is refused with its version, the supported ones and what to do") {
    Seq("3.5.9", "4.4.0", "4.30.1", "14.0.0", "5.0.0").foreach { version =>
      val refused = intercept[IllegalStateException](SupportedSpark.check(version)).getMessage
      assert(
        refused.contains(s"this is Spark $version, and this jar of hearth is for Spark 4.0 to 4.3")
      )
      assert(refused.contains("pip install 'pyspark>=4.0,<4.4'"))
      assert(!refused.contains("\n"))
    }
  }
}
