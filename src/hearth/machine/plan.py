"""A plan, as the verb `plan` answers: contract/plan.schema.json. `more` keeps what is not read."""

from dataclasses import dataclass, field
from typing import Any, Literal

from hearth.base.codec import LEFT_OUT


@dataclass(frozen=True)
class PlannedExecutor:
    """An executor and its place; `cpus` and `memory_nodes` as the kernel lists ids."""

    id: int
    cpus: str
    memory_nodes: str
    task_slots: int
    heap_mb: int
    off_heap_mb: int
    overhead_mb: int
    java_options: list[str]
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedDriver:
    """Where the driver should run."""

    cpus: str
    memory_nodes: str
    bound: bool
    heap_mb: int


@dataclass(frozen=True)
class Reason:
    """What was decided, why in a sentence, and where the rule comes from."""

    decision: str
    value: str
    because: str
    source: str


@dataclass(frozen=True)
class PlannedWork:
    """What is known of the application."""

    python: bool | None = field(default=None, metadata=LEFT_OUT)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How an application uses a machine; `native` is one JVM, the only executor."""

    mode: Literal["native", "partitioned"]
    master: str
    executors: list[PlannedExecutor]
    driver: PlannedDriver
    reasons: list[Reason]
    conf: dict[str, str] = field(default_factory=dict)
    workload: PlannedWork = field(default_factory=PlannedWork)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def is_native(self) -> bool:
        """Whether it is one JVM, which hearth starts as plain Spark."""
        return self.mode == "native"

    @property
    def least_heap_mb(self) -> int:
        """Of its executors."""
        return min(executor.heap_mb for executor in self.executors)
