package io.hearth.lending

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.FreeMemory
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.Places

/** What an application offers, borrows and gives back: places have two CPUs and two slots, two of them a node. */
class LendingPolicySuite extends AnyFunSuite {
  private val tenth = 100000000L

  private def placement(place: Int, executor: Option[ExecutorLoad]): PlacementState = {
    val plan = Places.of(place + 1)(place)
    PlacementState(place, plan.cpus, plan.memoryNodes, plan.taskSlots, 192L << 20, executor)
  }

  /** An executor that is named after its place. */
  private def runs(place: Int, tasks: Int): PlacementState =
    placement(place, Some(ExecutorLoad(s"$place", registered = true, tasks)))

  private def loan(executor: String, cpus: Int = 2, stands: Boolean = true) =
    LoanStatus(s"loan-$executor", executor, cpus, stands)

  /** The last step of these moments, a tenth of a second apart. */
  private def last(
      moments: Seq[(Int, Vector[PlacementState])],
      borrowed: Vector[LoanStatus] = Vector.empty,
      whole: Boolean = false,
      barrier: Boolean = false
  ): LendingStep =
    moments.zipWithIndex
      .foldLeft((LendingPolicy(whole), LendingStep(Set.empty, Set.empty, Vector.empty, 0))) {
        case ((policy, _), ((pending, placements), n)) =>
          policy.next(LendingState(n * tenth, pending, barrier, 1, placements, borrowed))
      }
      ._2

  private def always(pending: Int, placements: PlacementState*)(moments: Int) =
    Seq.fill(moments)((pending, placements.toVector))

  test(
    "a place without tasks is offered after a second, an empty one too, one that starts is not"
  ) {
    val starts = placement(2, Some(ExecutorLoad("2", registered = false, 0)))
    val pause = always(0, runs(0, 0), runs(1, 1), starts, placement(3, None)) _
    assert(last(pause(10)).offer.isEmpty)
    assert(last(pause(11)).offer == Set(0, 3))
  }

  test("with a pending task, and with one that starts there, an offer ends at once") {
    val pause = always(0, runs(0, 0), runs(1, 0))(20)
    assert(last(pause).offer == Set(0, 1))
    assert(last(pause :+ ((1, pause.last._2))).offer.isEmpty)
    assert(last(pause :+ ((0, Vector(runs(0, 1), runs(1, 0))))).offer == Set(1))
    assert(last(pause ++ Seq((1, pause.last._2)) ++ pause.take(10)).offer.isEmpty, "a second anew")
  }

  test("CPUs that two places have are offered once, and only while both have no tasks") {
    def same(place: Int, tasks: Int) = runs(place, tasks).copy(cpus = IdSet(0, 1))
    assert(last(always(0, same(0, 0), same(1, 0), runs(2, 0))(20)).offer == Set(0, 2))
    assert(last(always(0, same(0, 0), same(1, 1), runs(2, 0))(20)).offer == Set(2))
  }

  test("an application that lends within itself offers nothing while any executor of it works") {
    assert(last(always(0, runs(0, 0), runs(1, 1))(20), whole = true).offer.isEmpty)
    assert(last(always(0, runs(0, 0), runs(1, 0))(20), whole = true).offer == Set(0, 1))
  }

  test("CPUs are borrowed where all slots have tasks, for as many as are pending") {
    assert(last(always(3, runs(0, 2))(2)).demands.isEmpty, "a moment's queue is none")
    val step = last(always(3, runs(0, 2), runs(1, 1))(3))
    assert(step.demands == Vector(Demand("0", IdSet(0))) && step.cpus == 3)
    assert(last(always(0, runs(0, 2))(3)).demands.isEmpty)
    val lent = Vector(loan("0"))
    assert(last(always(3, runs(0, 2))(3), lent).demands.isEmpty, "it has slots that are lent")
    assert(last(always(3, runs(0, 4))(3), lent).demands.nonEmpty)
  }

  test(
    "tasks that an earlier loan has left beyond an executor's slots borrow anew, pending or not"
  ) {
    val step = last(always(0, runs(0, 4))(1))
    assert(step.demands == Vector(Demand("0", IdSet(0))) && step.cpus == 2)
    assert(last(always(0, runs(0, 4))(1), Vector(loan("0"))).demands.isEmpty)
  }

  test("a stage whose tasks must all run at once borrows nothing") {
    assert(last(always(3, runs(0, 2))(9), barrier = true).demands.isEmpty)
    assert(last(always(3, runs(0, 2))(9), Vector(loan("0")), barrier = true).back.nonEmpty)
  }

  test("a loan ends when the lender wants it, the executor has ended, or its tasks fit without") {
    val busy = always(3, runs(0, 4))(9)
    assert(last(busy, Vector(loan("0"))).back.isEmpty)
    assert(last(busy, Vector(loan("0", stands = false))).back == Set("loan-0"))
    assert(last(busy, Vector(loan("7"))).back == Set("loan-7"))
    assert(
      last(always(0, runs(0, 3))(9), Vector(loan("0"))).back.isEmpty,
      "an extra task still runs"
    )
    assert(last(always(0, runs(0, 2))(2), Vector(loan("0"))).back.isEmpty, "between two stages")
    assert(last(always(0, runs(0, 2))(3), Vector(loan("0"))).back == Set("loan-0"))
  }

  test("an executor takes what is near to its memory first, and several share it evenly") {
    val offers =
      Vector(FreeOffer("far", IdSet(8, 9), IdSet(2)), FreeOffer("near", IdSet(2, 3), IdSet(0)))
    val one = Vector(Borrower("0", IdSet(0), 99))
    assert(LendingPolicy.allocate(offers, one, 2) == Vector(Allocation("near", "0", IdSet(2, 3))))
    assert(LendingPolicy.allocate(offers, one, 3).map(_.cpus).toSet == Set(IdSet(2, 3), IdSet(8)))
    val two = Vector(Borrower("0", IdSet(5), 99), Borrower("1", IdSet(5), 99))
    assert(
      LendingPolicy
        .allocate(offers, two, 9)
        .groupMapReduce(_.executorId)(_.cpus.size)(_ + _) == Map(
        "0" -> 2,
        "1" -> 2
      )
    )
    assert(
      LendingPolicy.allocate(offers, Vector.empty, 9).isEmpty && LendingPolicy
        .allocate(offers, one, 0)
        .isEmpty
    )
  }

  test(
    "an executor borrows as many CPUs as there is unleased memory for further tasks, as planned for one"
  ) {
    def max(freeMb: Long, limitMb: Long, lent: Int, demands: Demand*) = LendingPolicy
      .within(
        FreeMemory(Map(0 -> (freeMb << 20), 1 -> (1L << 40)), limitMb << 20),
        demands.toVector,
        Vector(runs(0, 2), runs(1, 2)),
        _ => lent
      )
      .map(_.max)
    val (one, beside) = (Demand("0", IdSet(0)), Demand("1", IdSet(0)))
    assert(max(192 * 3 + 191, 1 << 20, 0, one) == Vector(3))
    assert(max(192 * 3, 1 << 20, 5, one) == Vector(3), "beyond what it has")
    assert(max(191, 1 << 20, 0, one).isEmpty)
    assert(max(192 * 7, 1 << 20, 0, one, beside) == Vector(3, 3), "they share the node")
    assert(max(192 * 9, 192 * 4, 0, one, Demand("1", IdSet(1))) == Vector(2, 2), "and the cgroup")
  }

  test("as many slots are lent as a place has for as many CPUs, one at least") {
    assert(LendingPolicy.slots(0, 2, 2) == 0 && LendingPolicy.slots(2, 2, 2) == 2)
    assert(LendingPolicy.slots(4, 4, 8) == 2 && LendingPolicy.slots(1, 4, 8) == 1)
  }

  test("whatever is offered and wanted, no CPU goes to two, none that is not offered to anybody") {
    for (seed <- 1 to 500) {
      val random = new Random(seed)
      val offers = Vector.tabulate(random.nextInt(5))(n =>
        FreeOffer(
          s"o$n",
          IdSet.from((n * 4 until n * 4 + 4).filter(_ => random.nextBoolean())),
          IdSet(random.nextInt(3))
        )
      )
      val demands = Vector.tabulate(random.nextInt(4))(n =>
        Borrower(s"$n", IdSet(random.nextInt(3)), 1 + random.nextInt(9))
      )
      val cpus = random.nextInt(12)
      val shares = LendingPolicy.allocate(offers, demands, cpus)
      withClue(s"seed $seed: ") {
        val handed = shares.flatMap(_.cpus.iterator)
        val all = offers.map(_.cpus.size).sum
        assert(handed.distinct == handed)
        assert(handed.size == Vector(cpus, all, demands.map(_.max).sum).min)
        for (s <- shares) {
          val from = offers.find(_.offer == s.offer).get
          assert(s.cpus.subsetOf(from.cpus) && demands.exists(_.executorId == s.executorId))
          val has = shares.groupMapReduce(_.executorId)(_.cpus.size)(_ + _)
          assert(demands.forall(d => has.getOrElse(d.executorId, 0) <= d.max))
          val beside = demands.filter(_.nodes == from.nodes)
          assert(
            beside.exists(_.executorId == s.executorId) || beside.forall(d =>
              has(d.executorId) == d.max
            )
          )
        }
      }
    }
  }
}
