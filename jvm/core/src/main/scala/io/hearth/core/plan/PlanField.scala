package io.hearth.core.plan

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.{Brief, UserError}
import io.hearth.core.topology.IdSet

/**
 * One object of a JSON document; every refusal says where it stands.
 *
 * @param where its place in words, such as `the plan.driver`
 * @param schema the file that describes the document
 */
final private[plan] class PlanField(val value: JsonNode, where: String, schema: String) {

  def optional(name: String): Option[PlanField] =
    Option(value.get(name)).filterNot(_.isNull).map(new PlanField(_, s"$where.$name", schema))

  def child(name: String): PlanField = optional(name).getOrElse(refuse(name, "is absent"))

  def text(name: String): String = typed(name, "is not a text")(_.isTextual).asText

  def flag(name: String): Boolean = typed(name, "is not true or false")(_.isBoolean).asBoolean

  def int(name: String): Int =
    typed(name, "is not a whole number")(n => n.isIntegralNumber && n.canConvertToInt).asInt

  def long(name: String): Long =
    typed(name, "is not a whole number")(n => n.isIntegralNumber && n.canConvertToLong).asLong

  def ids(name: String): IdSet =
    IdSet.parse(text(name)).fold(problem => refuse(name, s"is wrong: $problem"), identity)

  def items(name: String): Vector[PlanField] =
    typed(name, "is not a list")(_.isArray).iterator.asScala.zipWithIndex.map { case (item, at) =>
      new PlanField(item, s"$where.$name[$at]", schema)
    }.toVector

  /** A list of texts. */
  def texts(name: String): Vector[String] =
    items(name).map(i =>
      if (i.value.isTextual) i.value.asText else refuse(name, "is not a list of texts")
    )

  /** An object whose values are texts. */
  def texts: Map[String, String] =
    entries.map { case (key, text) =>
      if (text.isTextual) key -> text.asText else refuse(key, "is not a text")
    }.toMap

  def oneOf[A](name: String, choices: Vector[A])(named: A => String): A = {
    val word = text(name)
    choices
      .find(named(_) == word)
      .getOrElse(
        refuse(name, s"is '${Brief(word)}', not one of ${choices.map(named).mkString(", ")}")
      )
  }

  /** Refuses what the document's schema does not know, so that a typing error is not ignored. */
  def only(names: String*): Unit =
    entries.map(_._1).find(!names.contains(_)).foreach { name =>
      refuse(name, s"is unknown; known are ${names.mkString(", ")}")
    }

  private def entries: Iterator[(String, JsonNode)] =
    if (value.isObject) PlanJson.entries(value)
    else throw new UserError(s"$where is not an object ($schema)")

  def refuse(name: String, problem: String): Nothing =
    throw new UserError(s"$where has no usable '${Brief(name)}': it $problem ($schema)")

  private def typed(name: String, problem: String)(ok: JsonNode => Boolean): JsonNode = {
    val node = child(name).value
    if (ok(node)) node else refuse(name, problem)
  }
}
