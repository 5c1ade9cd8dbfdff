package org.apache.spark.scheduler.cluster.numa

import java.util.concurrent.TimeUnit

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.{ConfigBuilder, ConfigEntry, OptionalConfigEntry}
import org.apache.spark.network.util.ByteUnit

import io.hearth.core.launch.Mount
import io.hearth.core.plan.{HearthKeys, WorkloadKind => Kind}
import io.hearth.spark

/**
 * Every key of hearth, by Spark's own configuration builder: default, check, document, since-version.
 * `docs/configuration.md` is generated from [[all]].
 */
private[spark] object HearthConfig {

  val Hosts: ConfigEntry[String] = ConfigBuilder("spark.hearth.hosts")
    .doc(
      "What a host is to Spark's scheduler. `node`: each NUMA node is a host (each executor, when all sit " +
        "on one node) and the machine is the rack, so that locality levels, speculation and exclusion work " +
        "within the machine; the names are loopback addresses 127.78.x.y. `machine`: every executor has " +
        "the machine's own host name, as other tools expect. Where the key is not set and the addresses cannot be " +
        "bound, as where the loopback is IPv6 only, hosts share the machine's own."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(spark.HostNames.all.map(_.name).toSet)
    .createWithDefault("node")

  val Binding: ConfigEntry[String] = ConfigBuilder("spark.hearth.binding")
    .doc(
      "`required`: where the kernel refuses to bind an executor to its CPUs or memory nodes, it is not " +
        "started, and the application ends with a message that says what is missing. `preferred`: it " +
        "continues without what was refused, its memory alone where its CPUs can be bound, with a warning and a " +
        "note in the placement report. `off`: nothing is bound (for comparisons). Where one memory node is all " +
        "that executors may use, a refused memory policy changes nothing, and is not counted as a refusal. Under other masters " +
        "`io.hearth.plugin.BindingPlugin` reads it (docs/binding-plugin.md): `preferred` if not set, `off` reports " +
        "only, and with `required` an executor that cannot be bound ends the application."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(spark.BindingMode.all.map(_.name).toSet)
    .createWithDefault("required")

  val BindingScope: ConfigEntry[String] = ConfigBuilder(HearthKeys.BindingScopeKey)
    .doc(
      "What an executor is bound to. `node`: CPUs of its own, within one NUMA node where they fit, and the " +
        "memory of their nodes. `package`: all CPUs of one package, which its executors share, and the memory " +
        "of all nodes of the package; what does not fit a package is refused."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(HearthKeys.BindingScope.values.toSet)
    .createWithDefault("node")

  val Launcher: ConfigEntry[String] = ConfigBuilder("spark.hearth.launcher")
    .doc(
      "How executors are started. `process`: as processes, bound by CPU mask and memory policy. `docker`: " +
        "each in its own Docker container, whose cpuset holds its CPUs and memory nodes, with the files of " +
        "this machine that a run needs; the engine must run on this machine, and needs no image."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(spark.Launcher.all.map(_.name).toSet)
    .createWithDefault("process")

  val Mounts: OptionalConfigEntry[String] = ConfigBuilder(Mount.Key)
    .doc(
      "Files of this machine that containers see besides those that hearth finds itself (docs/containers.md " +
        "lists them): paths separated by commas, each followed by `:ro` (the default) or `:rw`."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(Mount.parse(_).isRight, s"must be ${Mount.Grammar}")
    .createOptional

  val Neighbours: ConfigEntry[String] = ConfigBuilder("spark.hearth.neighbours")
    .doc(
      "How a plan treats other applications, of any user: what they have leased, and bound executors that are " +
        "running. `avoid`: their CPUs are not used; if nothing else fits, `spark.hearth.lease.whenFull` says " +
        "what happens. `ignore`: the plan is made as if the machine were idle, and takes no lease."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(Set("avoid", "ignore"))
    .createWithDefault("avoid")

  val WhenFull: ConfigEntry[String] = ConfigBuilder(HearthKeys.WhenFullKey)
    .doc(
      "What happens where other applications hold what the plan would need (`hearth status --leases` shows who). " +
        "`share`: the application runs beside them, its executors not bound, with a warning that names them. " +
        "`wait`: it starts when enough is free; first come, first served: while it waits, those that come " +
        "later get nothing. `refuse`: it ends with a message."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(spark.WhenFull.all.map(_.name).toSet)
    .createWithDefault("share")

  val PlanFile: OptionalConfigEntry[String] = ConfigBuilder("spark.hearth.plan")
    .doc(
      "A plan (JSON, contract/plan.schema.json) to use instead of making one; `hearth submit` sets it."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(_.trim.nonEmpty, "must name a file")
    .createOptional

  val WorkloadKind: OptionalConfigEntry[String] = ConfigBuilder("spark.hearth.workload")
    .doc("What the application is, for the plan: sql, ml, graph or etl.")
    .version("0.1.0")
    .stringConf
    .checkValues(Kind.all.map(_.name).toSet)
    .createOptional

  val InputSize: OptionalConfigEntry[Long] = ConfigBuilder("spark.hearth.input")
    .doc("Size of the application's input, for the plan, such as 200g.")
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ > 0, "must be above zero")
    .createOptional

  val RunsDirectory: OptionalConfigEntry[String] = ConfigBuilder("spark.hearth.runs.dir")
    .doc(
      "Where each run keeps its plan, its placement report and its executors' logs. Default: `applications` under " +
        "$HEARTH_STATE, else under $XDG_STATE_HOME/hearth, else under ~/.local/state/hearth."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(_.trim.nonEmpty, "must name a directory")
    .createOptional

  val RunsKept: ConfigEntry[Int] = ConfigBuilder("spark.hearth.runs.kept")
    .doc("How many ended runs are kept; a new run deletes the oldest beyond them.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "must not be negative")
    .createWithDefault(50)

  val PlacementInterval: ConfigEntry[Long] = ConfigBuilder("spark.hearth.placement.interval")
    .doc(
      "How often every executor's threads, and the memory nodes of its cpuset, are compared with the plan " +
        "after its start. A change is read in full and logged as a warning that names the threads. The memory " +
        "itself, which costs more to read, follows every 24th time, or less often where reading it would cost " +
        "more than a thousandth of one CPU. 0 reads everything at the start only."
    )
    .version("0.1.0")
    .timeConf(TimeUnit.SECONDS)
    .checkValue(_ >= 0, "must not be negative")
    .createWithDefaultString("5s")

  val HandOver: ConfigEntry[String] = ConfigBuilder(HearthKeys.HandOverKey)
    .doc(
      "Whether CPUs of executors that have nothing to do are opened to others. `tail`: while no task is pending, to " +
        "those executors of the application whose threads wait for CPUs, as the native threads of a stage's " +
        "last tasks do; they are taken back as soon as tasks come. `applications`: CPUs of executors that have had nothing to " +
        "do for a second, while no task is pending, are offered to other applications of this machine that say the " +
        "same, and this one's executors take theirs, with more tasks at a time, while tasks are pending; each gets " +
        "its own back as soon as it has tasks. `all`: both. `off`: each executor keeps to its own CPUs."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(spark.HandOverMode.all.map(_.name).toSet)
    .createWithDefault("off")

  val Affinity: OptionalConfigEntry[String] = ConfigBuilder("spark.hearth.affinity")
    .doc(
      "Where communication threads may run, for the plugin `io.hearth.plugin.AffinityPlugin` (docs/affinity.md), as " +
        "its agent takes it: `policy=o2nts:4,device=eth0`. Without the plugin it has no effect."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(HearthKeys.Affinity.accepts, s"must be ${HearthKeys.Affinity.rule}")
    .createOptional

  val ShuffleCarriers: ConfigEntry[String] = ConfigBuilder("spark.hearth.shuffle.carriers")
    .doc(
      "What carries shuffle blocks between executors, with " +
        "`spark.shuffle.manager=org.apache.spark.shuffle.wire.WireShuffleManager` (docs/shuffle.md). `any`: UCX where " +
        "both executors have it, so shared memory inside a machine, else TCP. `ucx`: UCX, or Spark's own transfer. " +
        "`tcp`: TCP alone. Without that shuffle manager it has no effect."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(HearthKeys.Carriers.values.toSet)
    .createWithDefault("any")

  val ShuffleMemory: ConfigEntry[Long] = ConfigBuilder("spark.hearth.shuffle.memory")
    .doc(
      "The most off-heap memory for shuffle blocks in transit on one executor's wire; blocks that Spark " +
        "has not read yet take at most half of it. It is allocated as needed, and counts as memory overhead. Without it, " +
        "`HEARTH_WIRE_MEMORY` in the executor's environment decides."
    )
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(
      bytes => bytes >= HearthKeys.WireMemory.Least && bytes <= HearthKeys.WireMemory.Most,
      s"must be ${HearthKeys.WireMemory.rule}"
    )
    .createWithDefaultString("64m")

  val ShuffleIdle: OptionalConfigEntry[String] = ConfigBuilder("spark.hearth.shuffle.idle")
    .doc(
      "What the wire's threads do while idle: `event` sleeps until the kernel wakes them, `back-off` polls " +
        "at growing intervals, `busy` polls all the time (a CPU for each). Without it, `HEARTH_WIRE_IDLE` in the " +
        "executor's environment decides, else `event`."
    )
    .version("0.1.0")
    .stringConf
    .checkValues(HearthKeys.Idle.values.toSet)
    .createOptional

  val ShufflePort: ConfigEntry[Int] = ConfigBuilder("spark.hearth.shuffle.port")
    .doc(
      "The port on which an executor's wire listens, at the executor's own address. 0: any free port."
    )
    .version("0.1.0")
    .intConf
    .checkValue(
      port => port >= 0 && port <= HearthKeys.Port.Most,
      s"must be ${HearthKeys.Port.rule}"
    )
    .createWithDefault(0)

  val PartitionsByQuery: ConfigEntry[Boolean] = ConfigBuilder(HearthKeys.PartitionsByQuery)
    .doc(
      "Whether the shuffles that Spark SQL adds to a query get as many partitions as the data that the query reads " +
        "call for: one for each `spark.sql.adaptive.advisoryPartitionSizeInBytes`, at least two for each task that " +
        "runs at once (of little data 200 at most), at most Spark's or the plan's number, which also stands where a " +
        "size is not known. It needs adaptive execution. A number that you set with `spark.sql.shuffle.partitions` stands."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val ClassDataArchive: ConfigEntry[Boolean] = ConfigBuilder("spark.hearth.classDataArchive")
    .doc(
      "Whether executors start from an archive of loaded classes (JEP 350), built once after the first run on " +
        "this class path and Java version, and reused."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  /** In the order of the documentation page. */
  val all: Vector[ConfigEntry[_]] = Vector(
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
    Affinity,
    ShuffleCarriers,
    ShuffleMemory,
    ShuffleIdle,
    ShufflePort,
    PartitionsByQuery,
    ClassDataArchive,
    RunsDirectory,
    RunsKept
  )

  def hosts(conf: SparkConf): spark.HostNames =
    spark.HostNames.all.find(_.name == conf.get(Hosts)).head

  def binding(conf: SparkConf): spark.BindingMode =
    spark.BindingMode.all.find(_.name == conf.get(Binding)).head

  def whenFull(conf: SparkConf): spark.WhenFull =
    spark.WhenFull.all.find(_.name == conf.get(WhenFull)).head

  def handOver(conf: SparkConf): spark.HandOverMode =
    spark.HandOverMode.all.find(_.name == conf.get(HandOver)).head

  def launcher(conf: SparkConf): spark.Launcher =
    spark.Launcher.all.find(_.name == conf.get(Launcher)).head
}
