package io.hearth.lending

import java.nio.file.Files
import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.placement.LentCpus
import io.hearth.core.topology.IdSet

class HandOverRecordSuite extends AnyFunSuite {
  private val start = Instant.parse("2026-11-23T12:00:00Z")
  private def loan(executor: String, second: Long) =
    Grant(executor, 0, IdSet(2, 3), Vector(1), start.plusSeconds(second), None)

  test("a loan that ends is the same one, and CPUs times seconds are added up") {
    val begun = HandOverRecord.empty("app").updated(loan("0", 0)).updated(loan("1", 0))
    val over = begun.updated(loan("0", 0).copy(until = Some(start.plusMillis(2500))))
    assert(over.number == 2 && over.cpuSeconds == 5.0)
    assert(over.loans.map(_.until.nonEmpty) == Vector(true, false))
  }

  test("of many loans the latest are kept one by one, and all are counted") {
    val all = (0 until 500).foldLeft(HandOverRecord.empty("app"))((record, n) =>
      record
        .updated(loan("0", n))
        .updated(
          loan("0", n).copy(until = Some(start.plusSeconds(n).plusMillis(500)))
        )
    )
    assert(all.number == 500 && all.cpuSeconds == 500.0)
    assert(all.loans.size == HandOverRecord.Kept && all.loans.last.since == start.plusSeconds(499))
  }

  test("the loans that are open are read back from a run's record, from a damaged one none") {
    val run = Files.createTempDirectory("hearth-hand-over")
    val file = run.resolve(LentCpus.File)
    try {
      assert(LentCpus.toExecutors(run).isEmpty)
      val over = loan("0", 0).copy(until = Some(start.plusSeconds(1)))
      val record =
        HandOverRecord.empty("app").updated(over).updated(loan("0", 5)).updated(loan("1", 6))
      Files.writeString(file, Json.pretty(record.toJson))
      assert(LentCpus.toExecutors(run) == Map("0" -> IdSet(2, 3), "1" -> IdSet(2, 3)))
      for (damage <- Seq("", "[1]", "{\"loans\": 7}", "{\"loans\": [{\"cpus\": \"x\"}, 3]}")) {
        Files.writeString(file, damage)
        assert(LentCpus.toExecutors(run).isEmpty, damage)
      }
    } finally {
      Files.deleteIfExists(file)
      Files.delete(run)
    }
  }
}
