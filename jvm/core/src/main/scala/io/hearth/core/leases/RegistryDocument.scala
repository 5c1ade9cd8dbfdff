package io.hearth.core.leases

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/** A document of the registry, in which anybody can have written anything: a field is absent where it is wrong. */
final private[leases] class RegistryDocument(document: JsonNode) {
  def text(name: String): Option[String] =
    Option(document.get(name)).filter(_.isTextual).map(_.asText)

  /** A text that is shown. */
  def shown(name: String): Option[String] = text(name).map(RegistryDocument.printable)

  def number(name: String): Option[Long] =
    Option(document.get(name))
      .filter(n => n.isIntegralNumber && n.canConvertToLong)
      .map(_.asLong)
      .filter(_ >= 0)

  /** In the plain list format: thousands of strided parts in one small file take seconds. */
  def ids(name: String): Option[IdSet] =
    text(name).filterNot(_.contains(':')).flatMap(IdSet.parse(_).toOption)

  def child(name: String): Option[RegistryDocument] =
    Option(document.get(name)).filter(_.isObject).map(new RegistryDocument(_))

  def names: Vector[String] = document.fieldNames.asScala.toVector
}

private[leases] object RegistryDocument {

  /** The end of the year 9999, in seconds since 1970: what calendars can show. */
  val LatestSecond = 253402300799L

  /** @return why it is none */
  def read[A](text: String, schema: String)(
      fields: RegistryDocument => Option[A]
  ): Either[String, A] =
    Try(Json.parse(text, "it")).toEither.left.map(_ => "it is not JSON").flatMap { document =>
      val written = document.path("schema").asText
      if (written != schema) Left(s"it is not '$schema' but '${printable(written)}'")
      else
        fields(new RegistryDocument(document))
          .toRight(s"a field of $schema is absent or wrong (${example(schema)})")
    }

  private def example(schema: String) = s"contract/examples/${schema.split('/')(1)}.json"

  /** Nothing that a terminal would act on, and not much. */
  def printable(text: String): String =
    text.take(60).map(c => if (c < 127 && c >= ' ') c else '?')
}
