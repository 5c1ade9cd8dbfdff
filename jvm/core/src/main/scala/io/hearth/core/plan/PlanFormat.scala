package io.hearth.core.plan

/** A plan as text for Spark's own tools. */
sealed abstract class PlanFormat(val name: String) {

  /** @param users the settings that the user made, which the text repeats */
  def render(plan: Plan, users: Map[String, String]): String
}

object PlanFormat {

  /** Lines of `spark-defaults.conf`. */
  case object Conf extends PlanFormat("conf") {
    def render(plan: Plan, users: Map[String, String]): String =
      settings(plan, users).map { case (key, value) => s"$key $value" }.mkString("", "\n", "\n")
  }

  /** Arguments of `spark-submit`, quoted for a shell, one to a line. */
  case object SparkSubmit extends PlanFormat("spark-submit") {
    def render(plan: Plan, users: Map[String, String]): String = {
      val (master, rest) = settings(plan, users).partition(_._1 == "spark.master")
      val first = master.map { case (_, value) => s"--master ${quoted(value)}" }
      val others = rest.map { case (key, value) => s"--conf ${quoted(s"$key=$value")}" }
      (first ++ others).mkString(" \\\n  ") + "\n"
    }
  }

  val all: Vector[PlanFormat] = Vector(Conf, SparkSubmit)

  /**
   * The master and the settings in key order. `spark.executor.cores` is written only where all
   * executors are alike: read back, it would make the wider ones narrower.
   */
  private def settings(plan: Plan, users: Map[String, String]): Vector[(String, String)] = {
    val alike = plan.executors.map(_.taskSlots).distinct.sizeIs == 1
    val derived = if (alike) plan.conf else plan.conf - "spark.executor.cores"
    val both = derived.get(DerivedSettings.DriverOptions).map { ours =>
      DerivedSettings.DriverOptions -> (ours +: users.get(DerivedSettings.DriverOptions).toVector)
        .mkString(" ")
    }
    val all = (users - "spark.master") ++ derived ++ both
    ("spark.master" -> plan.master) +: all.toVector.sorted
  }

  private def quoted(word: String): String =
    if (word.matches("[A-Za-z0-9_./:=,+@%-]+")) word
    else "'" + word.replace("'", "'\\''") + "'"
}
