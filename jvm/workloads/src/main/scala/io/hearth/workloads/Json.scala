package io.hearth.workloads

import java.io.InputStream

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** JSON trees, by Jackson (among Spark's own jars). */
object Json {
  private val mapper = new ObjectMapper()

  /** Values are texts, numbers, truth values, trees, and sequences of these; what is `None` is left out. */
  def obj(fields: (String, Any)*): ObjectNode = {
    val node = mapper.createObjectNode()
    fields.foreach {
      case (_, None) => ()
      case (name, Some(value)) => node.set[JsonNode](name, tree(value))
      case (name, value) => node.set[JsonNode](name, tree(value))
    }
    node
  }

  def array(items: IterableOnce[Any]): ArrayNode = {
    val node = mapper.createArrayNode()
    items.iterator.foreach(item => node.add(tree(item)))
    node
  }

  private def tree(value: Any): JsonNode = value match {
    case items: Array[_] => array(items)
    case items: IterableOnce[_] => array(items)
    case other => mapper.valueToTree(other)
  }

  /** The object in a text, if it is one. */
  def parse(text: String): Option[JsonNode] =
    try Option(mapper.readTree(text)).filter(_.isObject)
    catch { case _: JsonProcessingException => None }

  def read(text: InputStream): JsonNode = mapper.readTree(text)

  /** On one line. */
  def line(node: JsonNode): String = mapper.writeValueAsString(node)

  def pretty(node: JsonNode): String =
    mapper.writerWithDefaultPrettyPrinter.writeValueAsString(node)
}
