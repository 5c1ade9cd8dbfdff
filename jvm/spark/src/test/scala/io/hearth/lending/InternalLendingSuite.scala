package io.hearth.lending

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.Places

/** Who gets whose CPUs: places have two CPUs each, two of them on each node. */
class InternalLendingSuite extends AnyFunSuite {
  private val tenth = 100000000L

  private def placement(place: Int, executor: Option[ExecutorLoad]): PlacementState = {
    val plan = Places.of(place + 1)(place)
    PlacementState(place, plan.cpus, plan.memoryNodes, executor)
  }

  /** An executor that is named after its place. */
  private def runs(place: Int, tasks: Int, waited: Double = 0): PlacementState =
    placement(
      place,
      Some(ExecutorLoad(s"$place", registered = true, tasks, Some((waited * 1e9).toLong)))
    )

  /** What is lent after these moments, a tenth of a second apart. */
  private def after(moments: Seq[(Boolean, Vector[PlacementState])]): InternalLending =
    moments.zipWithIndex.foldLeft(InternalLending()) { case (state, ((pending, placements), n)) =>
      state.next(InternalLendingState(n * tenth, pending, placements, waitsRead = true))._1
    }

  /** Place 0 works, its threads waiting as this share of the time; the others as given. */
  private def tail(
      moments: Int,
      waits: Double,
      others: Vector[PlacementState]
  ): Seq[(Boolean, Vector[PlacementState])] =
    (0 until moments).map(n => (false, runs(0, 1, waits * n / 10) +: others))

  test("an idle place's CPUs are opened to an executor whose threads wait, after 0.2 s") {
    val others = Vector(runs(1, 0))
    assert(after(tail(2, 1.0, others)).lent.isEmpty)
    assert(after(tail(3, 1.0, others)).lent == Map("0" -> GrantedCpus(IdSet(2, 3), Vector(1))))
  }

  test("an executor whose threads do not wait for CPUs keeps to its own") {
    assert(after(tail(30, 0.2, Vector(runs(1, 0)))).lent.isEmpty)
    assert(after(tail(30, 0.26, Vector(runs(1, 0)))).lent.nonEmpty)
  }

  test("a kernel that does not count waiting is taken to say that threads wait") {
    val unknown =
      placement(0, Some(ExecutorLoad("0", registered = true, running = 1, waited = None)))
    assert(after(Seq.fill(4)((false, Vector(unknown, runs(1, 0))))).lent.keySet == Set("0"))
  }

  test("nothing is lent while a task is pending, and all is taken back when one comes") {
    val begun = tail(4, 1.0, Vector(runs(1, 0)))
    assert(after(begun.map { case (_, placements) => (true, placements) }).lent.isEmpty)
    val state = after(begun)
    val (back, shifts) =
      state.next(InternalLendingState(4 * tenth, pending = true, begun.last._2, waitsRead = true))
    assert(back.lent.isEmpty)
    assert(
      shifts == Vector(GrantChange("0", GrantedCpus(IdSet(2, 3), Vector(1)), GrantedCpus.nothing))
    )
    val again = begun.map { case (_, placements) => (false, placements) }
    assert(after(begun ++ Seq((true, begun.last._2)) ++ again.take(2)).lent.isEmpty)
  }

  test("CPUs go back when their own executor has a task, and when the other has none left") {
    val begun = tail(4, 1.0, Vector(runs(1, 0)))
    assert(after(begun :+ ((false, Vector(runs(0, 1), runs(1, 1))))).lent.isEmpty)
    assert(after(begun :+ ((false, Vector(runs(0, 0), runs(1, 0))))).lent.isEmpty)
    assert(after(begun :+ ((false, Vector(placement(0, None), runs(1, 0))))).lent.isEmpty)
  }

  test(
    "the CPUs of an executor that is just starting are its own; those of an empty place are not"
  ) {
    val starting = placement(1, Some(ExecutorLoad("1", registered = false, running = 0)))
    assert(after(tail(9, 1.0, Vector(starting))).lent.isEmpty)
    assert(after(tail(9, 1.0, Vector(placement(1, None)))).lent.keySet == Set("0"))
    val lost = tail(4, 1.0, Vector(runs(1, 0))) :+ ((false, Vector(runs(0, 1), placement(1, None))))
    assert(after(lost).lent.isEmpty, "who is there has changed: the place is idle from now on")
  }

  test("CPUs of the same memory node come first, others only where these have none that are idle") {
    val near = Vector(runs(1, 0), runs(2, 0), runs(3, 0))
    assert(after(tail(4, 1.0, near)).lent("0") == GrantedCpus(IdSet(2, 3), Vector(1)))
    val far = Vector(runs(1, 2), runs(2, 0), runs(3, 0))
    assert(after(tail(4, 1.0, far)).lent("0") == GrantedCpus(IdSet(4, 5, 6, 7), Vector(2, 3)))
  }

  test("whatever happens, only CPUs of idle places are lent, to executors with tasks") {
    for (seed <- 1 to 300) {
      val random = new Random(seed)
      var state = InternalLending()
      var replayed = Map.empty[String, GrantedCpus]
      for (n <- 1 to 60) {
        val placements = Vector.tabulate(4) { place =>
          random.nextInt(8) match {
            case 0 => placement(place, None)
            case 1 => placement(place, Some(ExecutorLoad(s"${place + 4}", registered = false, 0)))
            case 2 | 3 | 4 => runs(place, 0)
            case _ => runs(place, 1, n.toDouble)
          }
        }
        // A place often stays as it was.
        val now =
          InternalLendingState(
            n * 3 * tenth,
            random.nextInt(6) == 0,
            placements,
            random.nextBoolean()
          )
        val (next, shifts) = state.next(now)
        withClue(s"seed $seed, step $n: ") {
          val idle = IdSet.union(placements.filter(_.idle).map(_.cpus))
          val working = placements.flatMap(_.working.map(_.id)).toSet
          assert(next.lent.keySet.subsetOf(working))
          assert(next.lent.values.forall(_.cpus.subsetOf(idle)))
          assert(!now.pending || next.lent.isEmpty)
          shifts.foreach { s =>
            assert(replayed.getOrElse(s.executorId, GrantedCpus.nothing) == s.before)
            replayed =
              if (s.after == GrantedCpus.nothing) replayed - s.executorId
              else replayed.updated(s.executorId, s.after)
          }
          assert(replayed == next.lent)
          val (back, open) = shifts.span(s => (s.before.cpus &~ s.after.cpus).nonEmpty)
          assert(open.forall(s => s.before.cpus.subsetOf(s.after.cpus)), s"after $back")
        }
        state = next
      }
    }
  }

  private val own = IdSet(0, 1)
  private val wide = IdSet(0, 1, 2, 3)

  test("a thread gets the CPUs that its executor gets, and loses those that it loses") {
    val open = MaskChange(own, own, wide, Map.empty)
    val back = MaskChange(own, wide, own, Map.empty)
    assert(open(7, own) == wide)
    assert(back(7, wide) == own)
    assert(back(7, IdSet(1, 2)) == IdSet(1), "it has bound itself during the loan")
    assert(back(7, IdSet(3)) == own)
  }

  test("a thread that the application has bound itself stays as it is") {
    val strays = Map(7 -> IdSet(2))
    val open = MaskChange(own, own, wide, strays)
    val back = MaskChange(own, wide, own, strays)
    for (mask <- Seq(IdSet(1), IdSet(9), IdSet(0, 9))) {
      assert(open(8, mask) == mask)
      assert(back(8, mask) == mask)
    }
    assert(open(7, IdSet(2)) == IdSet(2) && back(7, IdSet(2)) == IdSet(2))
    assert(back(9, IdSet(2)) == own, "another thread has bound itself so during the loan")
    val reset = open.copy(earlier = Map(8 -> IdSet(1)))
    assert(reset(8, wide) == IdSet(1), "a cpuset that was changed has reset its mask")
  }
}
