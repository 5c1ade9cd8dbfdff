package io.hearth.core.procfs

import org.scalatest.funsuite.AnyFunSuite

class ProcStatTest extends AnyFunSuite {

  test("the fields are found behind a name with brackets, blanks and control characters") {
    val fields = Map(4 -> 8, 6 -> 5, 14 -> 30, 15 -> 12, 16 -> 2, 17 -> 4, 22 -> 99, 39 -> 3)
    val rest = (4 to 52).map(fields.getOrElse(_, 0)).mkString(" ")
    val stat = ProcStat.parse(s"77 (a) (b\u001b[31m) S $rest\n")
    assert(stat == ProcStat('S', 8, 42, 99, 3, 5, 6))
  }
}
