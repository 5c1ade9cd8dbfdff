package io.hearth.core.json

import scala.jdk.CollectionConverters._
import scala.language.implicitConversions

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.hearth.core.UserError

/** JSON trees, by Jackson (among Spark's own jars); `contract/` has an example of each document. */
object Json {
  private val mapper = new ObjectMapper()
  private val make = JsonNodeFactory.instance

  /** What a field holds; a field of an absent value is left out. */
  final class Value private[Json] (val node: Option[JsonNode])

  object Value {
    implicit def ofTree(tree: JsonNode): Value = new Value(Some(tree))
    implicit def ofText(text: String): Value = ofTree(make.textNode(text))
    implicit def ofFlag(flag: Boolean): Value = ofTree(make.booleanNode(flag))
    implicit def ofInt(number: Int): Value = ofTree(make.numberNode(number))
    implicit def ofLong(number: Long): Value = ofTree(make.numberNode(number))
    implicit def ofDouble(number: Double): Value = ofTree(make.numberNode(number))

    implicit def ofOption[A](item: Option[A])(implicit value: A => Value): Value =
      new Value(item.flatMap(value(_).node))

    implicit def ofItems[A](items: Iterable[A])(implicit value: A => Value): Value =
      ofTree(make.arrayNode().addAll(items.flatMap(value(_).node).toVector.asJava))

    /** An object, its fields in order. */
    implicit def ofTexts(fields: Map[String, String]): Value =
      obj(fields.toVector.sorted.map { case (key, text) => key -> ofText(text) }: _*)

    /** An object whose keys are numbers, in order. */
    implicit def ofNumbered[A](fields: Map[Int, A])(implicit value: A => Value): Value =
      obj(fields.toVector.sortBy(_._1).map { case (key, item) => s"$key" -> value(item) }: _*)
  }

  def obj(fields: (String, Value)*): ObjectNode = {
    val node = make.objectNode()
    for ((name, value) <- fields; tree <- value.node) node.set[JsonNode](name, tree)
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
