"""Where the kernel says the executors of an application are: contract/placement.schema.json.

What is read of it; the verb `placement` and the driver write it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class KernelView:
    """What the kernel says of a process: CPUs that it may use, memory policies, where it was.

    policies: mappings by policy. anonymous_bytes: by node. threads_on_cpu: by the CPU of each.
    """

    cpus_allowed: str
    policies: dict[str, int]
    anonymous_bytes: dict[str, int]
    threads_on_cpu: dict[str, int]


@dataclass(frozen=True)
class PlacedExecutor:
    """One executor, its place in the plan, and whether it is there; kernel: where it was read.

    drift, notes: sentences; a record of hearth 0.1 has no notes.
    """

    executor_id: str
    place: int
    pid: int
    planned_cpus: str
    planned_memory_nodes: str
    verdict: str
    drift: list[str]
    notes: list[str] = field(default_factory=list)
    kernel: KernelView | None = None


@dataclass(frozen=True)
class OtherUse:
    """A process that is not the application's, and what it used of its CPUs between two times."""

    pid: int
    name: str
    user: str
    cpus: str
    cpu_seconds: float
    from_: str
    to: str


@dataclass(frozen=True)
class Placement:
    """Of one application."""

    executors: list[PlacedExecutor]
    others: list[OtherUse] = field(default_factory=list)
