package io.hearth.core.plan

import java.util.concurrent.TimeUnit

import scala.util.Try

import io.hearth.affinity.Settings
import io.hearth.core.launch.Mount
import io.hearth.core.plan
import io.hearth.core.UserError

/**
 * What the value of a key must be.
 *
 * @param rule to stand behind "it must be"
 * @param read the value that a text stands for; absent where it breaks the rule
 */
final class Form[A](val rule: String, val read: String => Option[A])

object Form {
  def oneOf[A](all: Vector[A])(name: A => String): Form[A] =
    new Form(all.map(name).mkString("one of ", ", ", ""), text => all.find(name(_) == text))

  def words(all: String*): Form[String] = oneOf(all.toVector)(identity)

  def checked(rule: String)(accepts: String => Boolean): Form[String] =
    new Form(rule, Some(_).filter(accepts))

  def named(what: String): Form[String] = checked(s"the name of a $what")(_.trim.nonEmpty)

  def whole(rule: String, max: Int): Form[Int] =
    new Form(rule, _.trim.toIntOption.filter(n => n >= 0 && n <= max))

  val Flag: Form[Boolean] = new Form("true or false", _.trim.toBooleanOption)

  /** In bytes. */
  def size(rule: String, min: Long, max: Long): Form[Long] = new Form(
    rule,
    Sizes.bytes(_, 'b').filter(bytes => bytes >= min && bytes <= max).map(_.toLong)
  )

  private val Time = """(\d{1,18})(us|ms|s|m|min|h|d)?""".r
  private val Units = Map("us" -> TimeUnit.MICROSECONDS, "ms" -> TimeUnit.MILLISECONDS) ++
    Map("m" -> TimeUnit.MINUTES, "min" -> TimeUnit.MINUTES, "h" -> TimeUnit.HOURS) +
    ("d" -> TimeUnit.DAYS)

  val Seconds: Form[Long] = new Form(
    "a time of at least 0, such as 60s",
    _.trim.toLowerCase match {
      case Time(number, unit) =>
        Some(Units.getOrElse(unit, TimeUnit.SECONDS).toSeconds(number.toLong))
      case _ => None
    }
  )
}

/**
 * A key of hearth's that users may set.
 *
 * @param default as a user would write it; absent where the key then says nothing
 * @param doc what it does, for docs/configuration.md
 * @param since the first version that has it
 */
final class Key[A](
    val name: String,
    val form: Form[A],
    val default: Option[String],
    val doc: String,
    val since: String = "0.1.0"
) {

  /** What the user set. @throws UserError where the value breaks the key's rule */
  def set(settings: String => Option[String]): Option[A] = settings(name).map(text =>
    form.read(text).getOrElse(throw new UserError(HearthKeys.refused(this, text).message))
  )

  /** What the user set, else the default of a key that has one. @throws UserError as [[set]] */
  def in(settings: String => Option[String]): A =
    set(settings).orElse(default.flatMap(form.read)).get
}

/**
 * Every key of hearth's: its values, its default and its document. A wrong value is refused before anything runs.
 * `docs/configuration.md` is generated from [[all]].
 */
object HearthKeys {
  import Form._

  val Hosts: Key[plan.HostNames] = new Key(
    "spark.hearth.hosts",
    oneOf(plan.HostNames.all)(_.name),
    Some("node"),
    "What a host is to Spark's scheduler. `node`: each NUMA node is a host (each executor, when all sit " +
      "on one node) and the machine is the rack, so that locality levels, speculation and exclusion work " +
      "within the machine; the names are loopback addresses 127.78.x.y. `machine`: every executor has " +
      "the machine's own host name, as other tools expect. Where the key is not set and the addresses cannot be " +
      "bound, as where the loopback is IPv6 only, hosts share the machine's own."
  )

  val Binding: Key[plan.BindingMode] = new Key(
    "spark.hearth.binding",
    oneOf(plan.BindingMode.all)(_.name),
    Some("required"),
    "`required`: where the kernel refuses to bind an executor to its CPUs or memory nodes, it is not " +
      "started, and the application ends with a message that says what is missing. `preferred`: it " +
      "continues without what was refused, its memory alone where its CPUs can be bound, with a warning and a " +
      "note in the placement report. `off`: nothing is bound (for comparisons). Where one memory node is all " +
      "that executors may use, a refused memory policy changes nothing, and is not counted as a refusal. Under other masters " +
      "`io.hearth.plugin.BindingPlugin` reads it (docs/binding-plugin.md): `preferred` if not set, `off` reports " +
      "only, and with `required` an executor that cannot be bound ends the application."
  )

  val BindingScope: Key[String] = new Key(
    "spark.hearth.binding.scope",
    words("node", "package"),
    Some("node"),
    "What an executor is bound to. `node`: CPUs of its own, within one NUMA node where they fit, and the " +
      "memory of their nodes. `package`: all CPUs of one package, which its executors share, and the memory " +
      "of all nodes of the package; what does not fit a package is refused."
  )

  val Launcher: Key[plan.Launcher] = new Key(
    "spark.hearth.launcher",
    oneOf(plan.Launcher.all)(_.name),
    Some("process"),
    "How executors are started. `process`: as processes, bound by CPU mask and memory policy. `docker`: " +
      "each in its own Docker container, whose cpuset holds its CPUs and memory nodes, with the files of " +
      "this machine that a run needs; the engine must run on this machine, and needs no image."
  )

  val Mounts: Key[String] = new Key(
    Mount.Key,
    checked(Mount.Grammar)(Mount.parse(_).isRight),
    None,
    "Files of this machine that containers see besides those that hearth finds itself (docs/containers.md " +
      "lists them): paths separated by commas, each followed by `:ro` (the default) or `:rw`."
  )

  val WorkloadKind: Key[plan.WorkloadKind] = new Key(
    "spark.hearth.workload",
    oneOf(plan.WorkloadKind.all)(_.name),
    None,
    "What the application is, for the plan: sql, ml, graph or etl."
  )

  val InputSize: Key[Long] = new Key(
    "spark.hearth.input",
    size("a size above zero, such as 200g", 1, Long.MaxValue),
    None,
    "Size of the application's input, for the plan, such as 200g."
  )

  val Neighbours: Key[String] = new Key(
    "spark.hearth.neighbours",
    words("avoid", "ignore"),
    Some("avoid"),
    "How a plan treats other applications, of any user: what they have leased, and bound executors that are " +
      "running. `avoid`: their CPUs are not used; if nothing else fits, `spark.hearth.lease.whenFull` says " +
      "what happens. `ignore`: the plan is made as if the machine were idle, and takes no lease."
  )

  val WhenFull: Key[plan.WhenFull] = new Key(
    "spark.hearth.lease.whenFull",
    oneOf(plan.WhenFull.all)(_.name),
    Some("share"),
    "What happens where other applications hold what the plan would need (`hearth status --leases` shows who). " +
      "`share`: the application runs beside them, its executors not bound, with a warning that names them. " +
      "`wait`: it starts when enough is free; first come, first served: while it waits, those that come " +
      "later get nothing. `refuse`: it ends with a message."
  )

  val PlanFile: Key[String] = new Key(
    "spark.hearth.plan",
    named("file"),
    None,
    "A plan (JSON, `hearth schema plan`) to use instead of making one; `hearth submit` sets it."
  )

  val PlacementInterval: Key[Long] = new Key(
    "spark.hearth.placement.interval",
    Seconds,
    Some("5s"),
    "How often every executor's threads, and the memory nodes of its cpuset, are compared with the plan " +
      "after its start. A change is read in full and logged as a warning that names the threads. The memory " +
      "itself, which costs more to read, follows every 24th time, or less often where reading it would cost " +
      "more than a thousandth of one CPU. 0 reads everything at the start only."
  )

  val HandOver: Key[plan.HandOverMode] = new Key(
    "spark.hearth.handOver",
    oneOf(plan.HandOverMode.all)(_.name),
    Some("off"),
    "Whether CPUs of executors that have nothing to do are opened to others. `tail`: while no task is pending, to " +
      "those executors of the application whose threads wait for CPUs, as the native threads of a stage's " +
      "last tasks do; they are taken back as soon as tasks come. `off`: each executor keeps to its own CPUs."
  )

  /** Of `spark.hearth.width`. */
  val Adaptive = "adaptive"

  val Width: Key[String] = new Key(
    "spark.hearth.width",
    words("fixed", Adaptive),
    Some("fixed"),
    "How many tasks of a stage run at once in an executor. `fixed`: as many as planned. `adaptive`: from a " +
      "quarter of that to four times as many, found while the stage runs: more where its tasks wait and CPUs are " +
      "idle, fewer where that brings more work. Without effect beside a native engine."
  )

  val Affinity: Key[String] = new Key(
    "spark.hearth.affinity",
    checked("settings such as policy=o2nts:4,device=eth0")(text =>
      Try(Settings.parse(text, java.util.Map.of(), "")).isSuccess
    ),
    None,
    "Where communication threads may run, for the plugin `io.hearth.plugin.AffinityPlugin` (docs/affinity.md), as " +
      "its agent takes it: `policy=o2nts:4,device=eth0`. Without the plugin it has no effect."
  )

  val ShuffleTransports: Key[String] = new Key(
    "spark.hearth.shuffle.transports",
    words("any", "ucx", "tcp"),
    Some("any"),
    "What carries shuffle blocks between executors, with " +
      "`spark.shuffle.manager=org.apache.spark.shuffle.wire.WireShuffleManager` (docs/shuffle.md). `any`: UCX where " +
      "both executors have it, so shared memory inside a machine, else TCP. `ucx`: UCX, or Spark's own transfer. " +
      "`tcp`: TCP alone. Without that shuffle manager it has no effect."
  )

  val ShuffleMemory: Key[Long] = new Key(
    "spark.hearth.shuffle.memory",
    size("a size of 16m to 1t, such as 64m", 16L << 20, 1L << 40),
    Some("64m"),
    "The most off-heap memory for shuffle blocks in transit on one executor's wire; blocks that Spark " +
      "has not read yet take at most half of it. It is allocated as needed, and counts as memory overhead."
  )

  val ShuffleIdle: Key[String] = new Key(
    "spark.hearth.shuffle.idle",
    words("event", "back-off", "busy"),
    Some("event"),
    "What the wire's threads do while idle: `event` sleeps until the kernel wakes them, `back-off` polls " +
      "at growing intervals, `busy` polls all the time (a CPU for each)."
  )

  val ShufflePort: Key[Int] = new Key(
    "spark.hearth.shuffle.port",
    whole("a port, 0 to 65535", 65535),
    Some("0"),
    "The port on which an executor's wire listens, at the executor's own address. 0: any free port."
  )

  val PartitionsByQuery: Key[Boolean] = new Key(
    "spark.hearth.sql.partitionsByQuery",
    Flag,
    Some("true"),
    "Whether the shuffles that Spark SQL adds to a query get as many partitions as the data that the query reads " +
      "call for: one for each `spark.sql.adaptive.advisoryPartitionSizeInBytes`, at least two for each task that " +
      "runs at once (of little data 200 at most), at most Spark's or the plan's number, which also stands where a " +
      "size is not known. It needs adaptive execution. A number that you set with `spark.sql.shuffle.partitions` stands."
  )

  val ClassDataArchive: Key[Boolean] = new Key(
    "spark.hearth.classDataArchive",
    Flag,
    Some("true"),
    "Whether executors start from an archive of loaded classes (JEP 350), built once after the first run on " +
      "this class path and Java version, and reused."
  )

  val RunsDirectory: Key[String] = new Key(
    "spark.hearth.runs.dir",
    named("directory"),
    None,
    "Where each run keeps its plan, its placement report and its executors' logs. Default: `applications` under " +
      "$HEARTH_STATE, else under $XDG_STATE_HOME/hearth, else under ~/.local/state/hearth."
  )

  val RunsKept: Key[Int] = new Key(
    "spark.hearth.runs.kept",
    whole("a whole number of at least 0", Int.MaxValue),
    Some("50"),
    "How many ended runs are kept; a new run deletes the oldest beyond them."
  )

  val WarmIdle: Key[Long] = new Key(
    "spark.hearth.warm.idle",
    Seconds,
    Some("30m"),
    "How long a warm server (`hearth submit --warm`, docs/running.md) stays without a program. The last program " +
      "that sets it counts."
  )

  /** In the order of the documentation page. */
  val all: Vector[Key[_]] = Vector(
    Hosts,
    Binding,
    BindingScope,
    Launcher,
    Mounts,
    WorkloadKind,
    InputSize,
    Neighbours,
    WhenFull,
    PlanFile,
    PlacementInterval,
    HandOver,
    Width,
    Affinity,
    ShuffleTransports,
    ShuffleMemory,
    ShuffleIdle,
    ShufflePort,
    PartitionsByQuery,
    ClassDataArchive,
    RunsDirectory,
    RunsKept,
    WarmIdle
  )

  /** The CPUs that `hearth submit` may use, where it starts the driver on a part of them. */
  val AllowedCpus = "spark.hearth.internal.cpus"

  /** The number of shuffle partitions that the plan has set: another one is the user's. */
  val PlannedPartitions = "spark.hearth.internal.shufflePartitions"

  /** The prefix of keys that hearth sets for its own use; users must not set them. */
  private val Internal = "spark.hearth.internal."

  /** Refuses, by name, the first hearth key that is unknown or has an invalid value. */
  def check(conf: Map[String, String]): Either[Unfit, Unit] =
    conf.toVector.sorted
      .filter { case (key, _) => key.startsWith("spark.hearth.") && !key.startsWith(Internal) }
      .flatMap { case (key, value) => refusal(key, value) }
      .headOption
      .toLeft(())

  private def refusal(name: String, value: String): Option[Unfit] = all.find(_.name == name) match {
    case None =>
      val names = all.map(_.name).sorted.mkString(", ")
      Some(Unfit(name, s"'$value'", "hearth has no such key", s"the keys are $names"))
    case Some(key) => Option.when(key.form.read(value).isEmpty)(refused(key, value))
  }

  private[plan] def refused(key: Key[_], value: String): Unfit =
    Unfit(key.name, s"'$value'", s"it must be ${key.form.rule}", "correct it or leave it out")
}
