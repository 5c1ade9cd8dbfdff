package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

class PlacementScheduleSuite extends AnyFunSuite {
  private val second = 1000000000L
  private val fresh = PlacementSchedule.start(5 * second, now = 0)

  test("executors are looked at once in an interval, and never with an interval of 0") {
    assert(!fresh.lookDue(4 * second) && fresh.lookDue(5 * second))
    val looked = fresh.looked(5 * second)
    assert(!looked.lookDue(9 * second) && looked.lookDue(10 * second))
    assert(!PlacementSchedule.start(0, now = 0).lookDue(Long.MaxValue))
  }

  test(
    "all is read at every 24th look, less often where it takes long, at once when it has changed"
  ) {
    val quick = fresh.read(0, second / 100)
    assert(!quick.readingDue(119 * second, changed = false))
    assert(quick.readingDue(121 * second, changed = false))
    assert(quick.readingDue(5 * second, changed = true))
    val slow = fresh.read(0, second)
    assert(!slow.readingDue(1000 * second, changed = false))
    assert(slow.readingDue(1001 * second, changed = false))
  }

  test("what changes at every look costs a hundredth of one CPU at most") {
    val slow = fresh.read(0, second)
    assert(!slow.readingDue(100 * second, changed = true))
    assert(slow.readingDue(101 * second, changed = true))
  }
}
