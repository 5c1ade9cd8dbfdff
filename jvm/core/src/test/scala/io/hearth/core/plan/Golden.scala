package io.hearth.core.plan

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.Assertions

/** Agreed texts in files. `HEARTH_UPDATE_GOLDEN=1` writes them: read the difference before you commit. */
object Golden extends Assertions {

  /** Whether this run writes. */
  val update: Boolean = sys.env.get("HEARTH_UPDATE_GOLDEN").exists(_.nonEmpty)

  def check(file: Path, text: String): Unit = {
    if (update) {
      Files.createDirectories(file.getParent)
      Files.write(file, text.getBytes(UTF_8))
    }
    assert(Files.exists(file), s"$file is missing: HEARTH_UPDATE_GOLDEN=1 writes it")
    assert(Files.readString(file) == text, s"$file: HEARTH_UPDATE_GOLDEN=1 writes what is now")
    ()
  }

  /** A document as text: a line for each of its members, and for each part of one that has several. */
  def lines(document: JsonNode): String =
    members(document)
      .flatMap { case (name, value) =>
        if (value.isArray) value.elements.asScala.map(part => s"$name: $part")
        else if (value.isObject) members(value).map { case (key, part) => s"$name $key: $part" }
        else Vector(s"$name: $value")
      }
      .mkString("", "\n", "\n")

  /** Of a plan what is started, where and with which settings: no reasons. */
  def shape(plan: Plan): String =
    lines(PlanJson.write(plan).retain("mode", "master", "executors", "conf"))

  private def members(node: JsonNode): Vector[(String, JsonNode)] =
    node.properties.asScala.toVector.map(entry => entry.getKey -> entry.getValue)
}
