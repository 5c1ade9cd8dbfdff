package io.hearth.core.topology

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class IdSetTest extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val sets = Gen.listOf(Gen.choose(0, 5000)).map(IdSet.from)

  test("what the kernel writes as a list is read back, whatever the ids") {
    forAll(sets)(set => assert(IdSet.parse(set.toString) == Right(set)))
  }

  test("what the kernel writes as a mask is read back, whatever the ids") {
    forAll(sets)(set => assert(IdSet.parseMask(Fixture.mask(set)) == Right(set)))
  }

  test("sets are joined, cut and compared as sets of numbers are, whatever the ids") {
    forAll(sets, sets) { (a, b) =>
      val (left, right) = (a.iterator.toSet, b.iterator.toSet)
      assert((a | b).iterator.toSet == (left | right))
      assert((a & b).iterator.toSet == (left & right))
      assert((a &~ b).iterator.toSet == (left -- right))
      assert(a.intersects(b) == (left & right).nonEmpty && a.subsetOf(b) == left.subsetOf(right))
      assert(a.size == left.size && a.toVector == left.toVector.sorted)
      assert(
        (a == b) == (left == right) && (a | b) == (b | a) && (a | b).hashCode == (b | a).hashCode
      )
      assert((0 to 5001).forall(id => a.contains(id) == left(id)))
    }
  }

  test("a mask whose highest group is short is read from its low end") {
    assert(
      IdSet.parseMask("0011,00000000,11111111\n").map(_.toString) ==
        Right("0,4,8,12,16,20,24,28,64,68")
    )
  }

  test("a strided list keeps the first ids of each group") {
    assert(IdSet.parse("0-15:2/8,20").map(_.toString) == Right("0-1,8-9,20"))
  }

  test("text that is no set is refused with the part that is wrong") {
    for (wrong <- Vector("a", "1-", "-1", "3-1", "1-2-3", "0-7:2", "0-7:2/0", "0-70000", "1 2"))
      assert(IdSet.parse(wrong).left.exists(_.contains(s"'$wrong'")), wrong)
    for (wrong <- Vector("", "xyz", "0-3")) assert(IdSet.parseMask(wrong).isLeft, wrong)
    assert(IdSet.parseMask("1" + "0" * 20000).isLeft)
  }
}
