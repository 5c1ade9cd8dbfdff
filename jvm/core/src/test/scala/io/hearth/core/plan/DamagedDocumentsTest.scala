package io.hearth.core.plan

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.placement.PlacementReport
import io.hearth.core.testing.Temporary
import io.hearth.core.topology.{IdSet, TopologyJson, TopologyReader}

/** Documents that were cut, garbled, nested or changed in kind: each is read, or is one UserError. */
class DamagedDocumentsTest extends AnyFunSuite {
  private val Rounds = 400

  private def example(name: String): String =
    Files.readString(Project.file(s"contract/examples/$name.json"))

  test("a damaged plan is a plan or a clear error") {
    check("plan")(document => PlanJson.read(document))
  }

  test("a damaged plan request is planned for or refused in words") {
    val topology = TopologyReader.load(Some("2 packages, 4 nodes of 64 GB, 6 cores x 2 threads"))
    check("plan-request") { document =>
      val request = PlanRequest.read(document)
      Planner.plan(topology, request.workload, request.limits, Occupied(request.occupied), None)
    }
  }

  test("a damaged topology document is planned for or refused in words") {
    check("topology") { document =>
      val topology = TopologyJson.read(document)
      Planner.plan(topology, Workload.unknown, Limits.none, Occupied(IdSet.empty), None)
    }
  }

  test("a damaged placement report is read again from the kernel or is a clear error") {
    Temporary.directory { run =>
      check("placement") { document =>
        Files.writeString(run.resolve("placement.json"), document.toString)
        PlacementReport.retake(Path.of("/"), run)
      }
    }
  }

  test(
    "a value of another kind is refused by its name, wherever it stands in a plan or a request"
  ) {
    def refused(name: String)(read: JsonNode => Any): Int = {
      val places = holders(Json.parse(example(name), name)).size
      val refusals = for {
        place <- Vector.range(0, places)
        whole = holders(Json.parse(example(name), name))(place)
        key <- whole.fieldNames.asScala.toVector
      } yield {
        val document = Json.parse(example(name), name)
        val holder = holders(document)(place).asInstanceOf[ObjectNode]
        holder.set[JsonNode](key, another(holder.get(key)))
        withClue(document.toString)(intercept[UserError](read(document)))
      }
      refusals.size
    }
    assert(refused("plan")(PlanJson.read) > 60)
    assert(refused("plan-request")(PlanRequest.read) > 6)
  }

  private def another(value: JsonNode): JsonNode =
    Json.parse(if (value.isTextual) "7" else s"\"${value.asText}\"", "another kind")

  /** Every text is read without anything but a UserError. */
  private def check(name: String)(read: JsonNode => Any): Unit = {
    val random = new Random(12)
    val whole = example(name)
    val texts = Vector.fill(Rounds)(garbled(random, whole)) ++
      Vector.fill(Rounds)(changed(random, Json.parse(whole, name)).toString) ++
      Vector("", "null", "[]", "{}", "0", "\"text\"", "[" * 100000, "{\"a\":" * 100000)
    val outcomes = texts.map { text =>
      try {
        read(Json.parse(text, name))
        true
      } catch {
        case _: UserError => false
        case e: Throwable => fail(s"$name: ${text.take(3000)}", e)
      }
    }
    assert(outcomes.contains(true) && outcomes.contains(false))
  }

  /** Cut off, or with some characters that are others. */
  private def garbled(random: Random, text: String): String =
    if (random.nextBoolean()) text.take(random.nextInt(text.length))
    else
      (1 to 1 + random.nextInt(4)).foldLeft(text) { (t, _) =>
        t.updated(random.nextInt(t.length), random.nextPrintableChar())
      }

  /** Sound JSON in which one value is of another kind or size, or is missing. */
  private def changed(random: Random, document: JsonNode): JsonNode = {
    val places = holders(document)
    places(random.nextInt(places.size)) match {
      case node: ObjectNode =>
        val names = node.fieldNames.asScala.toVector
        val name = names(random.nextInt(names.size))
        if (random.nextInt(4) == 0) node.remove(name) else node.set[JsonNode](name, odd(random))
      case node: ArrayNode => node.set(random.nextInt(node.size), odd(random))
      case other => other
    }
    document
  }

  private def holders(node: JsonNode): Vector[JsonNode] =
    Vector(node).filter(n => n.isContainerNode && !n.isEmpty) ++
      node.elements.asScala.flatMap(holders)

  private val odds = Vector(
    "null",
    "true",
    "\"\"",
    "\"text\"",
    "\"0-x\"",
    "\"0-4000000000\"",
    "\"0,65536\"",
    "-1",
    "0",
    "1e300",
    "0.5",
    "9223372036854775807",
    "99999999999999999999999",
    "[]",
    "{}",
    "[[[]]]",
    "{\"a\":{\"a\":{}}}",
    "[null]",
    "[-1]",
    "2147483647",
    "65536",
    "\"\\u0000\\u001b[2J\""
  )

  private def odd(random: Random): JsonNode = Json.parse(odds(random.nextInt(odds.size)), "odd")
}
