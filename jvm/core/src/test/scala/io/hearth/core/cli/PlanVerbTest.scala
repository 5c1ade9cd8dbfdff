package io.hearth.core.cli

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.plan.Project

/** One request, or several at once. */
class PlanVerbTest extends AnyFunSuite {

  private def answer(request: String): JsonNode =
    PlanVerb.answer(new ByteArrayInputStream(request.getBytes(UTF_8)))

  private def request(executors: Int) =
    s"""{"machine": "2 packages, 2 nodes of 64 GB, 6 cores x 2 threads",
       | "limits": {"executors": $executors, "cores": 2}}""".stripMargin

  private def several(requests: String*) =
    s"""{"schema": "hearth/plan-requests/1", "requests": [${requests.mkString(", ")}]}"""

  test("several requests are answered as each alone would be, in their order") {
    val plans = answer(several(request(2), request(4))).get("plans")
    assert(plans.size == 2)
    for ((executors, at) <- Vector(2, 4).zipWithIndex)
      assert(plans.get(at).get("plan") == answer(request(executors)))
  }

  test("a request that cannot be met says why and the others have their plan") {
    val plans = answer(several(request(2), request(64), request(0), request(3))).get("plans")
    assert((0 to 3).map(plans.get(_).has("plan")) == Vector(true, false, false, true))
    val refused = intercept[UserError](answer(request(64))).getMessage
    assert(plans.get(1).get("refused").asText == refused)
  }

  test("of the worked example of several requests one has its plan and one is refused") {
    val example = Files.readString(Project.file("contract/examples/plan-requests.json"))
    val answers = answer(example)
    assert(answers.get("schema").asText == "hearth/plans/1")
    val (first, second) = (answers.get("plans").get(0), answers.get("plans").get(1))
    assert(first.get("plan").get("schema").asText == "hearth/plan/2")
    assert(second.get("refused").isTextual)
  }

  test("a document of another schema, or with a field that nobody knows, is refused by name") {
    for (
      (text, because) <- Vector(
        """{"schema": "hearth/plan-requests/2", "requests": []}""" -> "not 'hearth/plan-requests/1'",
        """{"requests": []}""" -> "schema",
        """{"schema": "hearth/plan-requests/1", "requests": {}}""" -> "is not a list",
        """{"schema": "hearth/plan-requests/1", "requests": [], "more": 1}""" -> "'more'"
      )
    ) {
      val refused = intercept[UserError](answer(text)).getMessage
      assert(refused.contains(because))
      assert(refused.contains("contract/examples/plan-requests.json"))
    }
  }
}
