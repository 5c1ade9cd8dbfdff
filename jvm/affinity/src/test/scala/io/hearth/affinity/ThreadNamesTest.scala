package io.hearth.affinity

import org.scalatest.funsuite.AnyFunSuite

class ThreadNamesTest extends AnyFunSuite {
  test("the threads of hearth's own wire are communication threads") {
    Vector("hearth-wire-tcp", "hearth-wire-ucx").foreach { name =>
      assert(name.length <= 15 && ThreadNames.all.include(name))
    }
  }
}
