package io.hearth.core.json

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.hearth.core.UserError

/** JSON trees, by Jackson (among Spark's own jars); documents are described in `contract/`. */
object Json {
  private val mapper = new ObjectMapper()

  def obj(): ObjectNode = mapper.createObjectNode()
  def arr(): ArrayNode = mapper.createArrayNode()

  def array[A](items: IterableOnce[A])(add: (ArrayNode, A) => Any): ArrayNode = {
    val node = arr()
    items.iterator.foreach(add(node, _))
    node
  }

  /** @throws UserError where `text` is not JSON; `what` names it in the message */
  def parse(text: String, what: String): JsonNode =
    try mapper.readTree(text)
    catch {
      case e: JsonProcessingException =>
        throw new UserError(s"$what is not JSON: ${e.getOriginalMessage}", Some(e))
    }

  def pretty(node: JsonNode): String =
    mapper.writerWithDefaultPrettyPrinter.writeValueAsString(node)
}
