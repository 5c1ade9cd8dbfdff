"""A plan, as the verb `plan` answers: contract/plan.schema.json."""

from dataclasses import dataclass, field
from typing import Any, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, IdList, NonEmpty, Positive, Text
from hearth.base.rows import html_table


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
    java_options: list[str]  #: without -Xmx; the user's own included
    host: str = ""  #: the name of the place in Spark's scheduler


@dataclass(frozen=True)
class PlannedDriver:
    """Where the driver should run."""

    cpus: IdList
    memory_nodes: IdList
    bound: bool
    heap_mb: Positive


@dataclass(frozen=True)
class Reason:
    """What was decided, why in a sentence, and where the rule comes from."""

    decision: Text
    value: Text
    because: Text
    #: a study by author and year (docs/sources.md), a kernel, JVM or Spark document, `hearth`, or
    #: `user`
    source: Text


@dataclass(frozen=True)
class PlannedWork:
    """What is known of the application."""

    kind: Literal["sql", "ml", "graph", "etl"] | None = field(default=None, metadata=LEFT_OUT)
    input_bytes: Count | None = field(default=None, metadata=LEFT_OUT)
    #: whether it is a Python program, which may run Python workers
    python: bool | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Asked:
    """What the user fixed by hearth's options or by the master.

    If a program sets Spark keys itself, the plan is made again with it.
    """

    executors: Positive | None = field(default=None, metadata=LEFT_OUT)
    cores: Positive | None = field(default=None, metadata=LEFT_OUT)
    memory_mb: Positive | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Plan:
    """How an application uses a machine, and why.

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
    #: hearth still reads hearth/plan/1, whose `conf` held the user's own settings too and which had
    #: no `workload` and `asked`
    schema: Literal["hearth/plan/2", "hearth/plan/1"] = "hearth/plan/2"
    #: the plan in the text form that the request's `format` named
    text: str | None = field(default=None, metadata=LEFT_OUT)
    #: the machine (topology.schema.json), where the request has `with_topology`
    topology: dict[str, Any] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def is_native(self) -> bool:
        """Whether it is one JVM, which hearth starts as plain Spark."""
        return self.mode == "native"

    @property
    def least_heap_mb(self) -> int:
        """Of its executors."""
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
