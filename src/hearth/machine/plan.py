"""A plan, and the request for one: what is known and what the user fixed.

A plan is the document of `hearth schema plan`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hearth.base.codec import LEFT_OUT, to_json
from hearth.base.errors import UserError
from hearth.base.java import OPTION_VARIABLES, SUBMIT_OPTIONS
from hearth.base.limits import AboveZero, Count, IdList, NonEmpty, Positive, Text
from hearth.base.redaction import REDACTED, Redaction
from hearth.base.rows import html_table
from hearth.base.sizes import parse_bytes, parse_mb, parse_setting_mb

#: The largest count that any machine could serve: an executor or task slot needs a CPU.
_MOST_CPUS = 1 << 16
BINDINGS = ("none", "node", "package")
BINDING = "spark.hearth.binding"
BINDING_SCOPE = "spark.hearth.binding.scope"
KINDS = ("sql", "ml", "graph", "etl")


@dataclass(frozen=True)
class RecordedBandwidth:
    """The memory traffic of a recorded run, in 10^9 bytes: more tasks than saturate it wait."""

    task_gb_s: AboveZero  #: from and to memory in a second of CPU time
    node_gb_s: AboveZero  #: what a NUMA node sustains


@dataclass(frozen=True)
class PlanRequest:
    """The known facts about an application, the user's constraints, and the machine to plan for.

    machine: a capture or a description; None for this machine. input, memory: sizes as typed.
    python: whether the program is in Python. occupied: CPUs to leave alone. conf: Spark settings.
    bandwidth: of a recorded run on that machine.
    """

    machine: str | None = None
    input: str | None = None
    workload: str | None = None
    executors: int | None = None
    cores: int | None = None
    memory: str | None = None
    bind: str | None = None
    python: bool = False
    occupied: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    bandwidth: RecordedBandwidth | None = None

    def document(self) -> dict[str, Any]:
        """Return the document that the verb `plan` reads.

        Raises UserError for a value out of range.
        """
        for name, value in (("executors", self.executors), ("cores", self.cores)):
            _check_count(name, value)
        size = parse_bytes(self.input, "--input") if self.input is not None else None
        memory = parse_mb(self.memory, "--memory") if self.memory is not None else None
        _check_memory(self.memory, memory, self.conf.get("spark.executor.memory"))
        known = {"kind": self.workload, "input_bytes": size, "python": self.python or None}
        workload = {**known, "bandwidth": self.bandwidth and to_json(self.bandwidth)}
        limits = {
            "executors": self.executors,
            "cores": self.cores,
            "memory_mb": memory,
            "memory_typed": self.memory,
            "conf": _with_binding(self.bind, dict(self.conf)),
            "environment": _java_options() if self.machine is None else None,
        }
        request = {
            "schema": "hearth/plan-request/1",
            "machine": self.machine,
            "workload": _given(workload),
            "limits": _given(limits),
            "occupied_cpus": self.occupied,
        }
        return _given(request)


def _check_count(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise UserError(f"--{name}: {value} is below 1: give at least 1, or leave it out")
    if value is not None and value > _MOST_CPUS:
        limit = f"no machine has more than {_MOST_CPUS} CPUs, and each needs one"
        raise UserError(f"--{name}: {value} is too many: {limit}; give fewer, or leave it out")


def _check_memory(typed: str | None, memory_mb: int | None, key: str | None) -> None:
    """Refuse two heaps in the words in which the user gave them; Spark's number alone is in MiB."""
    if typed is None or key is None:
        return
    try:
        other_mb = parse_setting_mb(key, "spark.executor.memory")
    except UserError:
        return  # the planner says what is wrong with it
    if other_mb != memory_mb:
        what = f"--memory: {typed} contradicts spark.executor.memory={key}"
        raise UserError(f"{what}: give one of them")


def _with_binding(bind: str | None, conf: dict[str, str]) -> dict[str, str]:
    """Return the settings with what `--bind` sets.

    Raise UserError where they say something else.
    """
    if bind is None:
        return conf
    key, value = (BINDING, "off") if bind == "none" else (BINDING_SCOPE, bind)
    if conf.get(key, value) != value:
        raise UserError(f"--bind: {bind} contradicts {key}={conf[key]}: give one of them")
    return conf if bind == "node" else {**conf, key: value}


def _java_options() -> dict[str, str] | None:
    """Return the user's variables that give Java options to an application's JVMs."""
    names = (*OPTION_VARIABLES, SUBMIT_OPTIONS)
    return {name: os.environ[name] for name in names if os.environ.get(name)} or None


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def parse_conf(settings: list[str], what: str = "--conf") -> dict[str, str]:
    """Return Spark settings from `key=value` texts; a later one wins, as in Spark."""
    conf = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            shown = _shown(setting)
            raise UserError(f"{what}: '{shown}' is not key=value: write it as spark.key=value")
        conf[key.strip()] = value.strip()
    return conf


def _shown(setting: str) -> str:
    """Show a malformed setting, such as `spark.some.password hush`, by its key only."""
    redaction = Redaction.of({})
    key, blank, _ = setting.partition(" ")
    return (
        f"{key} {REDACTED}" if blank and redaction.secret.search(key) else redaction.text(setting)
    )


@dataclass(frozen=True)
class PlannedExecutor:
    """An executor and its place."""

    id: Count  #: the place, kept when a lost executor is replaced
    cpus: IdList
    memory_nodes: IdList
    task_slots: Positive  #: Spark's cores of the executor: tasks at once times spark.task.cpus
    heap_mb: Positive  #: -Xmx
    off_heap_mb: Count
    overhead_mb: Count  #: memory of the process in addition to heap and off-heap
    java_options: list[str]  #: hearth's own, without -Xmx; the user's come behind them
    host: str = ""  #: the name of the place in Spark's scheduler
    #: memory of its Python workers in addition, where spark.executor.pyspark.memory is set
    pyspark_mb: Count | None = field(default=None, metadata=LEFT_OUT)

    @property
    def memory_mb(self) -> int:
        """The most memory that its processes may take."""
        return self.heap_mb + self.off_heap_mb + self.overhead_mb + (self.pyspark_mb or 0)


@dataclass(frozen=True)
class PlannedDriver:
    """The CPUs, memory and heap planned for the driver."""

    cpus: IdList
    memory_nodes: IdList
    bound: bool
    heap_mb: Positive
    #: memory of the process in addition to the heap
    overhead_mb: Count

    @property
    def memory_mb(self) -> int:
        """The most memory that its process may take."""
        return self.heap_mb + self.overhead_mb


@dataclass(frozen=True)
class Reason:
    """A decision, its reason in a sentence, and the source of the rule."""

    decision: Text
    value: Text
    because: Text
    #: a study by author and year (docs/sources.md), a kernel, JVM or Spark document, `hearth`, or
    #: `user`
    source: Text


@dataclass(frozen=True)
class PlannedWork:
    """Known facts about the application."""

    kind: Literal["sql", "ml", "graph", "etl"] | None = field(default=None, metadata=LEFT_OUT)
    input_bytes: Count | None = field(default=None, metadata=LEFT_OUT)
    #: whether it is a Python program, which may run Python workers
    python: bool | None = field(default=None, metadata=LEFT_OUT)
    bandwidth: RecordedBandwidth | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Asked:
    """The user's constraints, by hearth's options or by the master.

    If a program sets Spark keys itself, the plan is made again with it.
    """

    executors: Positive | None = field(default=None, metadata=LEFT_OUT)
    cores: Positive | None = field(default=None, metadata=LEFT_OUT)
    memory_mb: Positive | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Plan:
    """A plan: how an application uses a machine, and why.

    Written by the verb `plan`. Sizes are MiB; sets of CPUs and nodes are in the kernel's list
    format, such as `0-3,8`.
    """

    #: `native` is one JVM, not bound (Spark's `local[n]`); `executors` then holds that JVM
    mode: Literal["native", "partitioned"]
    master: str  #: the Spark master that runs this plan
    executors: NonEmpty[PlannedExecutor]
    driver: PlannedDriver
    reasons: NonEmpty[Reason]  #: one for each decision, in the order in which they were taken
    #: the Spark settings that hearth derived, and none that the user set;
    #: spark.driver.extraJavaOptions goes before the user's own
    conf: dict[str, str] = field(default_factory=dict)
    workload: PlannedWork = field(default_factory=PlannedWork)
    asked: Asked = field(default_factory=Asked)
    schema: Literal["hearth/plan/2"] = "hearth/plan/2"
    #: hearth's own settings that its application starts with, beside `conf`
    launch: dict[str, str] | None = field(default=None, metadata=LEFT_OUT)
    #: the plan in the text form that the request's `format` named
    text: str | None = field(default=None, metadata=LEFT_OUT)
    #: the machine (`hearth schema topology`), where the request has `with_topology`
    topology: dict[str, Any] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def is_native(self) -> bool:
        """Whether it is one JVM, which hearth starts as plain Spark."""
        return self.mode == "native"

    @property
    def memory_mb(self) -> int:
        """The most memory that all its processes may take; one JVM is executor and driver."""
        executors = sum(executor.memory_mb for executor in self.executors)
        return executors + (0 if self.is_native else self.driver.memory_mb)

    @property
    def least_heap_mb(self) -> int:
        """The smallest heap of its executors."""
        return min(executor.heap_mb for executor in self.executors)

    def _repr_html_(self) -> str:
        head = ["executor", "CPUs", "memory nodes", "task slots", "heap MB"]
        rows = [
            (one.id, one.cpus, one.memory_nodes, one.task_slots, one.heap_mb)
            for one in self.executors
        ]
        reasons = [(one.decision, one.value, one.because, one.source) for one in self.reasons]
        return html_table(f"{self.mode}: {self.master}", head, rows) + html_table(
            "reasons", ["decision", "value", "because", "source"], reasons
        )
