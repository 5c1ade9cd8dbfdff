package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.topology.MachineSpec

class HearthKeysTest extends AnyFunSuite with Planning {
  private val machine = MachineSpec.parse("2 nodes of 64 GB, 8 cores")

  private def planned(key: String, value: String) =
    planning(machine, Limits.none.copy(conf = Map(key -> value)))

  /** Values of each key that its rule refuses. */
  private val wrong = Map[Key[_], Seq[String]](
    HearthKeys.Hosts -> Seq("rack", ""),
    HearthKeys.Binding -> Seq("maybe", "Off"),
    HearthKeys.BindingScope -> Seq("socket"),
    HearthKeys.Launcher -> Seq("podman"),
    HearthKeys.Mounts -> Seq("data:rw"),
    HearthKeys.WorkloadKind -> Seq("poetry"),
    HearthKeys.InputSize -> Seq("0", "-1", "1.5", "2 g", "99999999999p"),
    HearthKeys.Neighbours -> Seq("chase away"),
    HearthKeys.WhenFull -> Seq("complain"),
    HearthKeys.PlanFile -> Seq(" "),
    HearthKeys.PlacementInterval -> Seq("-1s", "5 s", "3x"),
    HearthKeys.HandOver -> Seq("always"),
    HearthKeys.Width -> Seq("wide", "", "4"),
    HearthKeys.Affinity -> Seq("policy=near"),
    HearthKeys.ShuffleTransports -> Seq("pigeons"),
    HearthKeys.ShuffleMemory -> Seq("1m", "2t"),
    HearthKeys.ShuffleIdle -> Seq("sleep"),
    HearthKeys.ShufflePort -> Seq("65536", "-1"),
    HearthKeys.PartitionsByQuery -> Seq("perhaps"),
    HearthKeys.ClassDataArchive -> Seq("yes"),
    HearthKeys.RunsDirectory -> Seq(" "),
    HearthKeys.RunsKept -> Seq("-1", "99999999999"),
    HearthKeys.WarmIdle -> Seq("-1s", "5 s")
  )

  test(
    "a wrong value of a key is refused when a plan is made and when it is read, by the key's name"
  ) {
    assert(wrong.keySet == HearthKeys.all.toSet)
    for ((key, values) <- wrong; value <- values) {
      val refusal = s"${key.name}: '$value' does not fit: it must be ${key.form.rule}"
      assert(planned(key.name, value).left.exists(_.message.startsWith(refusal)), key.name)
      val read = intercept[UserError](key.set(Map(key.name -> value).get))
      assert(read.getMessage.startsWith(refusal))
    }
  }

  test("a key of hearth's that does not exist is refused, with those that do") {
    val unfit = planned("spark.hearth.bindings", "off").swap.toOption
    assert(
      unfit.exists(u =>
        u.name == "spark.hearth.bindings" && u.remedy.contains("spark.hearth.binding,")
      )
    )
  }

  test("what the user set holds, else the default") {
    def interval(text: String*) =
      HearthKeys.PlacementInterval.in(
        text.headOption.map("spark.hearth.placement.interval" -> _).toMap.get
      )
    assert(interval() == 5)
    for (
      (text, seconds) <- Seq("60" -> 60, "1500ms" -> 1, "2M" -> 120, "3min" -> 180, "7d" -> 604800)
    )
      assert(interval(text) == seconds, text)
    assert(HearthKeys.InputSize.set(_ => Some("200g")).contains(200L << 30))
    assert(
      HearthKeys.ClassDataArchive.in(_ => None) && !HearthKeys.ClassDataArchive.in(_ =>
        Some("FALSE")
      )
    )
    for (mode <- BindingMode.all) assert(HearthKeys.Binding.in(_ => Some(mode.name)) == mode)
    for (key <- HearthKeys.all; text <- key.default) assert(key.form.read(text).nonEmpty, key.name)
  }

  test(
    "every key that is declared has a name of hearth's, a meaning in sentences and a since-version"
  ) {
    val declared = HearthKeys.getClass.getDeclaredMethods.filter(_.getReturnType == classOf[Key[_]])
    assert(declared.map(_.invoke(HearthKeys)).toSet == HearthKeys.all.toSet[Any])
    for (key <- HearthKeys.all) withClue(key.name) {
      assert(key.name.startsWith("spark.hearth."))
      assert(key.doc.length > 20 && key.doc.endsWith("."))
      assert(key.since.matches("""\d+\.\d+\.\d+"""))
    }
  }

  test("docs/configuration.md holds every key, no other, as HEARTH_UPDATE_GOLDEN=1 writes it") {
    Golden.check(
      Project.file("docs/configuration.md"),
      HearthKeys.all.map(section).mkString(head, "", "")
    )
  }

  private val head =
    """# Configuration
      |
      |Generated from `HearthKeys`; do not edit. `HEARTH_UPDATE_GOLDEN=1 mvn -f jvm -pl core -am test` writes it.
      |
      |Set a key as any of Spark's: `--conf KEY=VALUE`, `spark-defaults.conf`, or `.config(KEY, VALUE)` before the
      |session is made. A wrong value ends the application at its start, naming the key.
      |""".stripMargin

  private def section(key: Key[_]): String = {
    val default = key.default.fold("none")(value => s"`$value`")
    s"\n## `${key.name}`\n\nDefault: $default. Since ${key.since}.\n\n${filled(key.doc)}\n"
  }

  /** In lines of at most 120 characters. */
  private def filled(text: String): String =
    text.split(' ').reduceLeft { (lines, word) =>
      val fits = lines.length - lines.lastIndexOf('\n') + word.length <= 120
      lines + (if (fits) ' ' else '\n') + word
    }
}
