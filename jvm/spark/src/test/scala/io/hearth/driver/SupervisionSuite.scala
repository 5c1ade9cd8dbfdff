package io.hearth.driver

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.SupervisionAction._
import io.hearth.driver.testing.Places

/** What follows from the end of an executor. */
class SupervisionSuite extends AnyFunSuite {
  private val fresh = Supervision(LossHistory(LossLimit.InARow(3), validMs = None))

  private def exit(id: String, code: Int = 1) = ExecutorExit(
    id,
    place = 0,
    pid = 100 + id.toLong,
    code,
    asked = false,
    registered = true,
    explained = s"exit $code",
    lastWords = ""
  )

  private def after(state: Supervision, ids: String*): (Supervision, Vector[SupervisionAction]) =
    ids.foldLeft((state, Vector.empty[SupervisionAction])) { case ((now, _), id) =>
      now.exited(exit(id), running = Set.empty, nowMs = id.toLong)
    }

  test("a lost executor is removed with its exit code, what it means and what it said last") {
    val end = exit("4", 137).copy(
      explained = "exit 137: killed",
      lastWords = "java.io.IOException: No space left on device"
    )
    val reason =
      "exit 137: killed; the disk under spark.local.dir is full: make room, or name a directory on a larger " +
        "one; its last output:\njava.io.IOException: No space left on device"
    assert(
      fresh.exited(end, Set.empty, 0)._2 == Vector(
        LogError(s"Lost executor 4 (place 0, process 104): $reason"),
        RemoveLost("4", 137, byApplication = true, reason)
      )
    )
  }

  test("tasks of an executor that somebody ended with SIGTERM are not to blame") {
    val (_, actions) = fresh.exited(exit("4", 143), Set.empty, 0)
    assert(actions.collect { case r: RemoveLost => r.byApplication } == Vector(false))
  }

  test("an executor that was asked to end is no loss, and is removed unless it is already") {
    val asked = exit("4", 0).copy(asked = true)
    val note = LogInfo("executor 4 (place 0, process 104) ended as requested, exit 0")
    assert(fresh.exited(asked, Set.empty, 0) == ((fresh, Vector(note, RemoveEnded("4")))))
    val decommissioned = asked.copy(registered = false)
    assert(fresh.exited(decommissioned, Set.empty, 0) == ((fresh, Vector(note))))
  }

  test("too many losses end the application once, with the reason and the last loss") {
    val (second, before) = after(fresh, "1", "2")
    assert(!before.exists(_.isInstanceOf[GiveUp]))
    val (third, actions) = after(second, "3")
    val reasons = actions.collect { case GiveUp(reason) => reason }
    assert(reasons.size == 1)
    assert(
      reasons.head.startsWith("3 executors were lost in a row and no task was finished in between")
    )
    assert(reasons.head.endsWith("the last was executor 3 (place 0, process 103): exit 1"))
    assert(!after(third, "4")._2.exists(_.isInstanceOf[GiveUp]))
    assert(!notStarted(third)._2.exists(_.isInstanceOf[GiveUp]))
  }

  test("losses that no longer count are not held against the application") {
    val limit = Supervision(LossHistory(LossLimit.InAll(2), validMs = Some(1000)))
    val (two, _) = after(limit, "1", "2")
    assert(two.exited(exit("3"), Set.empty, nowMs = 5000)._2.size == 2)
    assert(two.exited(exit("3"), Set.empty, nowMs = 500)._2.size == 3)
  }

  private def notStarted(state: Supervision, running: Set[String] = Set.empty) =
    state.notStarted(Places.of(3)(2), new Exception("the disk is full"), 4, running, nowMs = 5)

  test(
    "a successor that cannot be started is told of, with its place, the cause and when it is tried again"
  ) {
    assert(
      notStarted(fresh)._2 == Vector(
        LogError(
          "The executor of place 2 could not be started: the disk is full; it is tried again in 4 s"
        )
      )
    )
  }

  test(
    "starts that fail count as losses: they end the application where nothing is at work any more"
  ) {
    val (second, _) = notStarted(after(fresh.finishedTask("8"), "1")._1)
    assert(notStarted(second, running = Set("8"))._2.size == 1)
    val (state, actions) = notStarted(second)
    assert(actions.size == 1)
    val reason = actions.collect { case GiveUp(why) => why }.head
    assert(reason.startsWith("3 executors were lost in a row and no task was finished in between"))
    assert(reason.endsWith("the executor of place 2 could not be started: the disk is full"))
    assert(state.givenUp)
  }

  private def refusal(of: Option[String], ended: Boolean) =
    Registration.refusal("7", "127.78.0.1", of, appId = "mine", ended)

  test("an executor of this application may register, of another or of none may not") {
    assert(refusal(Some("mine"), ended = false).isEmpty)
    for (of <- Seq(Some("yours"), None))
      assert(
        refusal(of, ended = false).contains(
          "executor 7 on 127.78.0.1 does not belong to application mine, which this driver runs"
        )
      )
  }

  test("a registration that arrives after its executor's end is refused: no task waits for it") {
    assert(
      refusal(Some("mine"), ended = true).contains("executor 7 on 127.78.0.1 has ended already")
    )
  }
}
