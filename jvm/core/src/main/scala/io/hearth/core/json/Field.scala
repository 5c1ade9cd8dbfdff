package io.hearth.core.json

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.MissingNode

import io.hearth.core.{Brief, UserError}

/**
 * A value in a JSON document; every refusal says where it stands.
 *
 * @param holder the object it is in, in words such as `the plan.driver`; of the document, what it is
 * @param name of the field, empty for the document itself
 * @param schema what describes the document: a command, or the file of an example
 */
final class Field private (val value: JsonNode, holder: String, name: String, schema: String) {

  /** The field of that name, where it is there. */
  def get(name: String): Option[Field] =
    Option(value.get(name)).filterNot(_.isNull).map(new Field(_, where, name, schema))

  def apply(name: String): Field =
    get(name).getOrElse(new Field(MissingNode.getInstance, where, name, schema).refuse("is absent"))

  def text: String = typed("is not a text", _.isTextual).asText

  def flag: Boolean = typed("is not true or false", _.isBoolean).asBoolean

  def int: Int = typed("is not a whole number", n => n.isIntegralNumber && n.canConvertToInt).asInt

  def long: Long =
    typed("is not a whole number", n => n.isIntegralNumber && n.canConvertToLong).asLong

  /** A whole number that is not below this one. */
  def atLeast(min: Long): Long =
    if (long < min) refuse(s"is $long, below $min") else long

  def number: Double = typed("is not a number", _.isNumber).asDouble

  /** A number above zero. */
  def rate: Double = if (number > 0) number else refuse("is not above 0")

  def items: Vector[Field] = typed("is not a list", _.isArray).iterator.asScala.zipWithIndex.map {
    case (item, at) => new Field(item, holder, s"$name[$at]", schema)
  }.toVector

  def texts: Vector[String] = items.map(_.text)

  /** The fields of an object, by name. */
  def fields: Map[String, Field] =
    typed("is not an object", _.isObject).properties.asScala.map { field =>
      field.getKey -> new Field(field.getValue, where, field.getKey, schema)
    }.toMap

  /** Of an object whose fields are texts. */
  def textFields: Map[String, String] = fields.map { case (name, field) => name -> field.text }

  def oneOf[A](choices: Vector[A])(named: A => String): A = choices
    .find(named(_) == text)
    .getOrElse(refuse(s"is '${Brief(text)}', not one of ${choices.map(named).mkString(", ")}"))

  /** @param read what it says, or what is wrong with it */
  def parsed[A](read: String => Either[String, A]): A =
    read(text).fold(problem => refuse(s"is wrong: $problem"), identity)

  /** Refuses fields that the document's schema does not know, so that a typing error is not ignored. */
  def only(names: String*): Unit = fields.removedAll(names).values.headOption.foreach { unknown =>
    unknown.refuse(s"is unknown; known are ${names.mkString(", ")}")
  }

  /** Refuses a document of another schema. */
  def schemaIs(expected: String): Unit = if (this("schema").text != expected)
    this("schema").refuse(s"is '${Brief(this("schema").text)}', not '$expected'")

  def refuse(problem: String): Nothing = throw new UserError(
    if (name.isEmpty) s"$holder $problem ($schema)"
    else s"$holder has no usable '${Brief(name)}': it $problem ($schema)"
  )

  private def where: String = if (name.isEmpty) holder else s"$holder.$name"

  private def typed(problem: String, ok: JsonNode => Boolean): JsonNode =
    if (ok(value)) value else refuse(problem)
}

object Field {

  /** @param what the document is, in words */
  def of(document: JsonNode, what: String, schema: String): Field =
    new Field(document, what, "", schema)
}
