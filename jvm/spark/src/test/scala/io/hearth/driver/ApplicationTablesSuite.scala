package io.hearth.driver

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.launch.Binding
import io.hearth.core.placement._
import io.hearth.core.plan._
import io.hearth.core.topology.IdSet
import io.hearth.driver.testing.{FakeProcess, Places}

class ApplicationTablesSuite extends AnyFunSuite {

  private val plan = Plan(
    PlanMode.Partitioned,
    "local-numa[2x2]",
    Places.of(2),
    DriverPlan(IdSet(0), IdSet(0), bound = false, heapMb = 512, overheadMb = 384),
    Map.empty,
    Vector(Reason("executors", "2", "two nodes", "hearth")),
    Workload.unknown,
    Limits.none
  )

  /** The first place has an executor, the second none. */
  private val running = {
    val process = new FakeProcess(101)
    Vector(
      RunningExecutor("7", plan.executors.head, process, 101, Some(plan.executors.head.binding))
    )
  }

  private def tables(leased: Leased = Leased(plan, None, unbound = false)) =
    new ApplicationTables(leased.plan, leased, () => running)

  private def table(of: ApplicationTables, title: String): UiTable =
    of.all.find(_.title == title).get

  /** An executor of the first place, whose threads may use some CPUs. */
  private def report(cpus: IdSet, lent: IdSet = IdSet.empty): PlacementReport = {
    val place = plan.executors.head
    val planned = Binding(place.cpus, place.memoryNodes)
    val subject = Subject("7", place.id, place.host, 101, 1, planned, bound = true, lent)
    val threads = Vector.tabulate(10)(n => ThreadPlacement(101 + n, "java", cpus, 0))
    val memory = Map(0 -> (900L << 20), 1 -> (100L << 20))
    val seen = ProcessPlacement(101, threads, None, IdSet(0, 1), Map("bind:0" -> 5), memory)
    PlacementReport("app", Instant.EPOCH, Vector(Finding(subject, Some(Right(seen)))))
  }

  test("each place of the plan has a row, before anything was read and while nobody is there") {
    val shown = table(tables(), "Executors")
    assert(shown.note == "Not read from the kernel yet.")
    assert(
      shown.rows == Vector(
        Vector("0", "7", "101", "a", "2", "0-1", "0", "–", "not read yet"),
        Vector("1", "–", "–", "a", "2", "2-3", "0", "–", "–")
      )
    )
    assert(shown.rows.forall(_.size == shown.columns.size))
  }

  test("what the kernel said last is shown: local share of memory, CPUs lent, and drift in words") {
    val of = tables()
    of.placementTaken(report(IdSet(0, 1, 4), lent = IdSet(4)))
    val shown = table(of, "Executors")
    assert(shown.note == "Read from the kernel at 1970-01-01T00:00:00Z.")
    assert(shown.rows.head.slice(5, 8) == Vector("0-1 and 4, lent", "0", "90 % of 1000 MB"))
    of.placementTaken(report(IdSet(5)))
    assert(table(of, "Executors").rows.head.last.startsWith("drift: "))
  }

  test("loans are shown, the last first, with whose CPUs they are") {
    val of = tables()
    assert(table(of, "Loans of idle CPUs").note == "None.")
    def loan(text: String) =
      s"""{"cpus": "2-3", "executor_id": "7", "place": 0, "from_places": [1], $text}"""
    val ended = loan(""""since": "2026-01-01T00:00:01.5Z", "until": "2026-01-01T00:00:04Z"""")
    val open = loan(""""since": "2026-01-01T00:00:05Z"""")
    of.loansChanged(Json.parse(s"""{"loans": [$ended, $open]}""", "it"))
    assert(
      table(of, "Loans of idle CPUs").rows.map(_.patch(3, Nil, 1)) == Vector(
        Vector("2-3", "places 1", "executor 7", "now"),
        Vector("2-3", "places 1", "executor 7", "2026-01-01T00:00:04")
      )
    )
  }

  test("an application without a lease is told so, and a plan of one JVM is not bound") {
    assert(table(tables(), "Lease").note.startsWith("This application has no lease"))
    val one = plan.copy(mode = PlanMode.Native, executors = Places.of(1))
    val shown = new ApplicationTables(one, Leased(one, None, unbound = false), () => Vector.empty)
    assert(table(shown, "Executors").note == "The plan is one JVM, which is not bound.")
    assert(table(shown, "Executors").rows.head.take(2) == Vector("0", "driver"))
    val marked = plan.copy(reasons = Vector(Reason("gain", "?", "`hearth compare` says", "hearth")))
    val page = new ApplicationTables(marked, Leased(one, None, unbound = false), () => Vector.empty)
    val words = (shown.all ++ page.all).flatMap(table => table.note +: table.rows.flatten)
    assert(!words.exists(_.contains('`')), "a page shows text, not Markdown")
    assert(table(shown, "Plan").rows == Vector(Vector("executors", "2", "two nodes", "hearth")))
  }
}
