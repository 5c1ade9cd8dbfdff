package io.hearth.core.plan

import scala.util.Try

import io.hearth.affinity.Settings
import io.hearth.core.launch.Mount

/**
 * The values that hearth's own keys accept, so that a wrong one is refused before anything runs.
 * `HearthConfig` declares them to Spark with these same values; a test holds the two together.
 */
object HearthKeys {

  /** @param rule what a value must be, to stand behind "it must be" */
  sealed abstract class Form(val rule: String) {
    def accepts(text: String): Boolean
  }

  final case class OneOf(values: Vector[String])
      extends Form(values.mkString("one of ", ", ", "")) {
    def accepts(text: String): Boolean = values.contains(text)
  }

  case object Size extends Form("a size above zero, such as 200g") {
    def accepts(text: String): Boolean = Sizes.bytes(text, 'b').exists(_ > 0)
  }

  /** Memory of the wire for shuffle blocks: enough for what is always under way. */
  case object WireMemory extends Form("a size of 16m to 1t, such as 64m") {
    val Least: Long = 16L << 20
    val Most: Long = 1L << 40
    def accepts(text: String): Boolean =
      Sizes.bytes(text, 'b').exists(bytes => bytes >= Least && bytes <= Most)
  }

  case object Port extends Form("a port, 0 to 65535") {
    val Most = 65535
    def accepts(text: String): Boolean = text.trim.toIntOption.exists(p => p >= 0 && p <= Most)
  }

  case object Interval extends Form("a time of at least 0, such as 60s") {
    private val Time = """(\d{1,18})(us|ms|s|m|min|h|d)?""".r
    def accepts(text: String): Boolean = Time.matches(text.trim.toLowerCase)
  }

  case object Count extends Form("a whole number of at least 0") {
    def accepts(text: String): Boolean = text.trim.toIntOption.exists(_ >= 0)
  }

  case object Flag extends Form("true or false") {
    def accepts(text: String): Boolean = Try(text.trim.toBoolean).isSuccess
  }

  final case class Name(what: String) extends Form(s"the name of a $what") {
    def accepts(text: String): Boolean = text.trim.nonEmpty
  }

  case object Mounts extends Form(Mount.Grammar) {
    def accepts(text: String): Boolean = Mount.parse(text).isRight
  }

  case object Affinity extends Form("settings such as policy=o2nts:4,device=eth0") {
    def accepts(text: String): Boolean =
      Try(Settings.parse(text, java.util.Map.of(), "")).isSuccess
  }

  val Hosts: OneOf = OneOf(Vector("node", "machine"))
  val Binding: OneOf = OneOf(Vector("required", "preferred", "off"))
  val BindingScope: OneOf = OneOf(Vector("node", "package"))
  val Launcher: OneOf = OneOf(Vector("process", "docker"))
  val Neighbours: OneOf = OneOf(Vector("avoid", "ignore"))
  val WhenFull: OneOf = OneOf(Vector("share", "wait", "refuse"))
  val HandOver: OneOf = OneOf(Vector("off", "tail", "applications", "all"))
  val Carriers: OneOf = OneOf(Vector("any", "ucx", "tcp"))
  val Idle: OneOf = OneOf(Vector("event", "back-off", "busy"))
  val Workloads: OneOf = OneOf(WorkloadKind.all.map(_.name))

  val WhenFullKey = "spark.hearth.lease.whenFull"

  val BindingScopeKey = "spark.hearth.binding.scope"

  val HandOverKey = "spark.hearth.handOver"

  /** The CPUs that `hearth submit` may use, where it starts the driver on a part of them. */
  val AllowedCpus = "spark.hearth.internal.cpus"

  /** Whether each SQL query's shuffles are sized by what the query reads. */
  val PartitionsByQuery = "spark.hearth.sql.partitionsByQuery"

  val WireMemoryKey = "spark.hearth.shuffle.memory"

  /** The number of shuffle partitions that the plan has set: another one is the user's. */
  val PlannedPartitions = "spark.hearth.internal.shufflePartitions"

  /** The prefix of keys that hearth sets for its own use; users must not set them. */
  private val Internal = "spark.hearth.internal."

  val all: Map[String, Form] = Map(
    "spark.hearth.hosts" -> Hosts,
    "spark.hearth.binding" -> Binding,
    BindingScopeKey -> BindingScope,
    "spark.hearth.launcher" -> Launcher,
    Mount.Key -> Mounts,
    "spark.hearth.workload" -> Workloads,
    "spark.hearth.input" -> Size,
    "spark.hearth.neighbours" -> Neighbours,
    WhenFullKey -> WhenFull,
    HandOverKey -> HandOver,
    "spark.hearth.plan" -> Name("file"),
    "spark.hearth.placement.interval" -> Interval,
    "spark.hearth.affinity" -> Affinity,
    "spark.hearth.shuffle.carriers" -> Carriers,
    WireMemoryKey -> WireMemory,
    "spark.hearth.shuffle.idle" -> Idle,
    "spark.hearth.shuffle.port" -> Port,
    PartitionsByQuery -> Flag,
    "spark.hearth.classDataArchive" -> Flag,
    "spark.hearth.runs.dir" -> Name("directory"),
    "spark.hearth.runs.kept" -> Count
  )

  /** Refuses, by name, the first hearth key that is unknown or has an invalid value. */
  def check(conf: Map[String, String]): Either[Unfit, Unit] =
    conf.toVector.sorted
      .filter { case (key, _) => key.startsWith("spark.hearth.") && !key.startsWith(Internal) }
      .flatMap { case (key, value) => refusal(key, value) }
      .headOption
      .toLeft(())

  private def refusal(key: String, value: String): Option[Unfit] = all.get(key) match {
    case None =>
      Some(
        Unfit(key, s"'$value'", "hearth has no such key", s"the keys are ${names.mkString(", ")}")
      )
    case Some(form) =>
      Option.unless(form.accepts(value))(
        Unfit(key, s"'$value'", s"it must be ${form.rule}", "correct it or leave it out")
      )
  }

  private def names = all.keys.toVector.sorted
}
