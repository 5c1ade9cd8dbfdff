"""Spark: its version, and settings that cost speed or end every application."""

import re
from collections.abc import Iterator

from hearth.base.errors import UserError
from hearth.base.sizes import parse_mb, show_bytes, show_mb
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule, published
from hearth.machine.paths import SPARK_VERSIONS
from hearth.machine.tree import NotSeen

_CONF = "spark-defaults.conf"
_SUPPORTED = re.compile(r"4\.[0-3](?:[.-].*)?")
_HEAPS = ("spark.driver.memory", "spark.executor.memory")
#: Up to here the wider references eat what the larger heap gives; the upper end is hearth's.
_WIDE_FROM_MB, _WIDE_TO_MB = 32 << 10, 48 << 10
#: Ours: a heap below this share of the memory leaves most of the machine idle.
_LEAST_SHARE = 1 / 8
_PARTITIONS = "spark.sql.shuffle.partitions"
_ADAPTIVE = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")


def _spark_version(machine: Machine) -> Outcome:
    version = known(machine.user_settings().spark_version)
    if not re.match(r"\d+\.\d+", version):
        raise NotSeen("the version of Spark is not known: its jars have no spark-core")
    seen = f"Spark {version}"
    return Fine(seen) if _SUPPORTED.fullmatch(version) else Problem(seen, "harm")


def _java_version(machine: Machine) -> Outcome:
    user = machine.user_settings()
    java, spark = known(user.java_version), known(user.spark_version)
    major, minor = re.match(r"\d+", java), re.match(r"4\.(\d)", spark)
    if not major or not minor:
        raise NotSeen(f"Java {java} and Spark {spark}: one of the versions is not known")
    seen, version, new = f"Java {java} under Spark {spark}", int(major[0]), int(minor[1]) >= 2
    if version in (17, 21) or (version == 25 and new):
        return Fine(seen)
    fails = version < 17 or (version >= 24 and not new)
    return Problem(seen, "harm" if fails else "advice")


def _heaps_mb(machine: Machine) -> Iterator[tuple[str, int]]:
    """Yield the heaps that the settings name; raise NotSeen."""
    settings = machine.user_settings().settings
    for key in _HEAPS:
        if key in settings:
            try:
                yield key, parse_mb(settings[key], key)
            except UserError:
                raise NotSeen(f"{key} in {_CONF} is not a size with a unit") from None


def _compressed_pointers(machine: Machine) -> Outcome:
    fine = []
    for key, heap_mb in _heaps_mb(machine):
        seen = f"{key} = {show_mb(heap_mb)}"
        if _WIDE_FROM_MB <= heap_mb < _WIDE_TO_MB:
            return Problem(seen, how=f"{key} 31g there")
        fine.append(seen)
    return Fine(", ".join(fine) or f"no heap size in {_CONF}")


def _fixed_heap(machine: Machine) -> Outcome:
    total = sum(node.memory_bytes for node in machine.require_topology().usable_nodes)
    executors = len(machine.require_plan().executors)
    for key, heap_mb in _heaps_mb(machine):
        heap = heap_mb << 20
        seen = f"{key} = {show_mb(heap_mb)} on a machine of {show_bytes(total)}"
        if heap > total:
            return Problem(seen, "harm", how=f"remove {key} there")
        if heap * executors < _LEAST_SHARE * total and (executors == 1 or "executor" in key):
            return Problem(seen, how=f"remove {key} there: the plan sizes the heap")
    return Fine(f"no heap size in {_CONF} that does not fit the machine")


def _shuffle_partitions(machine: Machine) -> Outcome:
    value = machine.user_settings().settings.get(_PARTITIONS)
    if value is None:
        return Fine(f"{_PARTITIONS} is left to the plan")
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotSeen(f"{_PARTITIONS} in {_CONF} is not a number")
    slots = sum(one.task_slots for one in machine.require_plan().executors)
    if int(value) >= slots:
        return Fine(f"{_PARTITIONS} = {value}, {slots} task slots")
    return Problem(f"{_PARTITIONS} = {value}, and {slots} tasks can run at once")


def _adaptive_execution(machine: Machine) -> Outcome:
    settings = machine.user_settings().settings
    off = [key for key in _ADAPTIVE if settings.get(key, "true").lower() == "false"]
    if not off:
        return Fine("adaptive execution: on")
    return Problem(f"{off[0]} = false", how=f"remove {off[0]} there")


SPARK = {
    "spark-version": Rule(
        _spark_version,
        why="hearth's jar is made for some versions of Spark; with others it fails at the first "
        "class it misses.",
        reads="its jars",
        better=SPARK_VERSIONS,
        source="hearth: what its jar is built and tested for",
        touches="programs that need the other version",
        how="pip install 'pyspark>=4.0,<4.4'",
    ),
    "java-version": Rule(
        _java_version,
        why="Spark is tested on some versions of Java. Before 17 it does not start; from 24 on it "
        "does from Spark 4.2 on, as older ones' Hadoop asks for what Java 24 has removed.",
        reads="the 'release' file of Java, Spark's jars",
        better="Java 17 or 21; from Spark 4.2 on also 25",
        source="Spark: overview, 'Spark runs on Java'; HADOOP-19212; JEP 486",
        touches="programs that need the other version",
        how="export JAVA_HOME= with the folder of such a Java",
    ),
    "compressed-pointers": Rule(
        _compressed_pointers,
        why="From 32 GB on each reference takes 8 bytes instead of 4: a slightly larger heap "
        "holds less.",
        reads=_CONF,
        better="31 GB or less, in more executors; or 48 GB and more",
        source="Awan 2016; Oracle: java command, -XX:+UseCompressedOops",
        worth=published(
            "K-Means and a Gaussian mixture were up to 36 % faster in six executors of four "
            "cores than in one of 50 GB (Awan 2016, no second threads)",
            36,
        ),
    ),
    "fixed-heap": Rule(
        _fixed_heap,
        why="A heap size in spark-defaults.conf holds for every application, and a plan honours "
        "it.",
        reads=_CONF,
        better="none there: the plan sizes heaps, where plain Spark takes 1 GB",
        source="Spark: configuration, spark.driver.memory",
        touches="applications that run without hearth get Spark's 1 GB",
    ),
    "shuffle-partitions": Rule(
        _shuffle_partitions,
        why="Fewer partitions than task slots leave CPUs idle after every shuffle.",
        reads=_CONF,
        better="not set there: adaptive execution merges partitions that are small",
        source="Spark: SQL performance tuning guide",
        how="remove spark.sql.shuffle.partitions there",
    ),
    "adaptive-execution": Rule(
        _adaptive_execution,
        why="Without it a query keeps the number of partitions and the joins that were guessed "
        "before it ran.",
        reads=_CONF,
        better="true, Spark's default since 3.2",
        source="Spark: SQL performance tuning guide, adaptive query execution",
        touches="plans of queries can change from run to run",
    ),
}
