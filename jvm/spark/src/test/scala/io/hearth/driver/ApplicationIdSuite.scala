package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError

class ApplicationIdSuite extends AnyFunSuite {

  test(
    "an id that could lead out of the run's directories is refused with name, value and what to do"
  ) {
    for (id <- Seq("", ".", "..", "../x", "a/b", "/etc", "a\u0000b", "two\nlines", "x" * 201)) {
      val refused = intercept[UserError](ApplicationId.checked(id)).getMessage
      assert(refused.startsWith("spark.app.id: '") && refused.endsWith("or leave it out"), refused)
      assert(!refused.exists(_.isControl))
    }
  }

  test("what Spark and its users give as ids stands") {
    for (id <- Seq("local-numa-1764-7", "app-20261126-0001", "my app", "été", "..x", "x" * 200))
      assert(ApplicationId.checked(id) == id)
  }
}
