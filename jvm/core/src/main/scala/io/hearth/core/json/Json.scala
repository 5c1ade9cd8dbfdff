package io.hearth.core.json

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.hearth.core.UserError

/** JSON trees, by Jackson (among Spark's own jars); documents are described in `contract/`. */
object Json {
  private val mapper = new ObjectMapper()

  def obj(): ObjectNode = mapper.createObjectNode()
  def array(items: IterableOnce[JsonNode]): ArrayNode =
    mapper.createArrayNode().addAll(items.iterator.to(Vector).asJava)

  def texts(items: IterableOnce[String]): ArrayNode = array(items.iterator.map(TextNode.valueOf))

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
