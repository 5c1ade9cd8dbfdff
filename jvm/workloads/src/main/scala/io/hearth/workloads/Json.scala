package io.hearth.workloads

import java.io.InputStream

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** JSON trees, by Jackson (among Spark's own jars). */
object Json {
  private val mapper = new ObjectMapper()

  def obj(): ObjectNode = mapper.createObjectNode()

  def array(items: IterableOnce[JsonNode]): ArrayNode = {
    val node = mapper.createArrayNode()
    items.iterator.foreach(node.add)
    node
  }

  def strings(items: IterableOnce[String]): ArrayNode = {
    val node = mapper.createArrayNode()
    items.iterator.foreach(node.add)
    node
  }

  def numbers(items: IterableOnce[Double]): ArrayNode = {
    val node = mapper.createArrayNode()
    items.iterator.foreach(node.add)
    node
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
