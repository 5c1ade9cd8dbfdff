package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.internal.config.{ConfigEntry, ConfigReader}
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.HearthKeys

class HearthConfigSuite extends AnyFunSuite {
  private val page =
    Path.of(sys.props.getOrElse("basedir", ".")).resolve("../../docs/configuration.md")

  /** A value of each key that its check refuses. */
  private val refused = Map(
    "spark.hearth.hosts" -> "rack",
    "spark.hearth.binding" -> "maybe",
    "spark.hearth.launcher" -> "podman",
    "spark.hearth.docker.mounts" -> "data:rw",
    "spark.hearth.workload" -> "poetry",
    "spark.hearth.input" -> "0",
    "spark.hearth.neighbours" -> "chase away",
    "spark.hearth.lease.whenFull" -> "complain",
    "spark.hearth.plan" -> " ",
    "spark.hearth.placement.interval" -> "-1s",
    "spark.hearth.handOver" -> "always",
    "spark.hearth.binding.scope" -> "socket",
    "spark.hearth.affinity" -> "policy=near",
    "spark.hearth.shuffle.carriers" -> "pigeons",
    "spark.hearth.shuffle.memory" -> "1m",
    "spark.hearth.shuffle.idle" -> "sleep",
    "spark.hearth.shuffle.port" -> "65536",
    "spark.hearth.sql.partitionsByQuery" -> "perhaps",
    "spark.hearth.classDataArchive" -> "perhaps",
    "spark.hearth.runs.dir" -> " ",
    "spark.hearth.runs.kept" -> "-1"
  )

  private def settings(pairs: (String, String)*) = new ConfigReader(pairs.toMap.asJava)

  test("docs/configuration.md holds every key, no other, as HEARTH_UPDATE_GOLDEN=1 writes it") {
    val text = ConfigurationPage.render(HearthConfig.all)
    if (sys.env.get("HEARTH_UPDATE_GOLDEN").exists(_.nonEmpty)) Files.writeString(page, text)
    assert(Files.exists(page), s"$page is missing: run this test with HEARTH_UPDATE_GOLDEN=1")
    assert(
      Files.readString(page) == text,
      s"$page differs: run this test with HEARTH_UPDATE_GOLDEN=1"
    )
  }

  test("every key that is declared is documented") {
    val declared = HearthConfig.getClass.getDeclaredMethods.filter(method =>
      classOf[ConfigEntry[_]]
        .isAssignableFrom(method.getReturnType) && method.getParameterCount == 0
    )
    assert(declared.map(_.invoke(HearthConfig)).toSet == HearthConfig.all.toSet[Any])
  }

  test("every key has a meaning in sentences, a since-version and a name of hearth's") {
    for (entry <- HearthConfig.all) withClue(entry.key) {
      assert(entry.key.startsWith("spark.hearth."))
      assert(entry.doc.length > 20 && entry.doc.endsWith("."))
      assert(entry.version.matches("""\d+\.\d+\.\d+"""))
    }
  }

  test("every key has a check, which refuses a wrong value by the key's name") {
    assert(refused.keySet == HearthConfig.all.map(_.key).toSet)
    for (entry <- HearthConfig.all) withClue(entry.key) {
      val outcome = Try(entry.readFrom(settings(entry.key -> refused(entry.key))))
      assert(outcome.isFailure)
      assert(outcome.failed.get.getMessage.contains(entry.key))
    }
  }

  test(
    "a plan refuses the values that Spark's own check would refuse at the start, and no others"
  ) {
    assert(HearthKeys.all.keySet == HearthConfig.all.map(_.key).toSet)
    val values =
      Seq(
        "",
        " ",
        "node",
        "machine",
        "rack",
        "required",
        "Off",
        "off",
        "docker",
        "process",
        "wait"
      ) ++
        Seq(
          "sql",
          "poetry",
          "0",
          "1",
          "-1",
          "50",
          "1.5",
          "200g",
          "2 g",
          "60s",
          "-5s",
          "5 s",
          "0s",
          "7d",
          "3x"
        ) ++
        Seq("true", "FALSE", "yes", "/tmp/x", "99999999999")
    for (entry <- HearthConfig.all; value <- values) withClue(s"${entry.key}='$value' ") {
      val spark = Try(entry.readFrom(settings(entry.key -> value))).isSuccess
      assert(HearthKeys.check(Map(entry.key -> value)).isRight == spark)
    }
  }

  test("a default passes its own check") {
    HearthConfig.all.foreach(_.readFrom(settings()))
  }
}

/** The page of all keys, from their own documents. */
private object ConfigurationPage {
  private val head =
    """# Configuration
      |
      |Generated from `HearthConfig`; do not edit. `HEARTH_UPDATE_GOLDEN=1 mvn -f jvm -pl spark -am test` writes it.
      |
      |Set a key as any of Spark's: `--conf KEY=VALUE`, `spark-defaults.conf`, or `.config(KEY, VALUE)` before the
      |session is made. A wrong value ends the application at its start, naming the key.
      |""".stripMargin

  def render(entries: Seq[ConfigEntry[_]]): String = entries.map(section).mkString(head, "", "")

  private def section(entry: ConfigEntry[_]): String = {
    val default = entry.defaultValueString match {
      case ConfigEntry.UNDEFINED => "none"
      case value => s"`$value`"
    }
    s"\n## `${entry.key}`\n\nDefault: $default. Since ${entry.version}.\n\n${filled(entry.doc)}\n"
  }

  /** In lines of at most 120 characters. */
  private def filled(text: String): String =
    text.split(' ').reduceLeft { (lines, word) =>
      val fits = lines.length - lines.lastIndexOf('\n') + word.length <= 120
      lines + (if (fits) ' ' else '\n') + word
    }
}
