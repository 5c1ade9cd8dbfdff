"""The documents of a record; each that is read may hold more.

Written by `hearth.record.store`, described in contract/record.schema.json and its neighbours.
Times in seconds are on the record's axis, zero being its start.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.ids import parse_ids

Ids = Annotated[str, parse_ids]
Moment = Annotated[str, datetime.fromisoformat]
State = Literal["finished", "failed", "interrupted"]


@dataclass(frozen=True)
class Clock:
    """Both clocks in nanoseconds, read at one moment."""

    wall_ns: int
    monotonic_ns: int


@dataclass(frozen=True)
class Owner:
    """The process that writes a record; its start in clock ticks since the boot."""

    pid: int
    start_ticks: int | None


@dataclass(frozen=True)
class Probe:
    """What `survey` says of a probe. period_s: seconds between two samples at least.

    source: what counts the bandwidth; domains: the CPUs of each of its domains.
    """

    name: str
    status: str
    reason: str | None = None
    period_s: float | None = field(default=None, metadata=LEFT_OUT)
    source: str | None = field(default=None, metadata=LEFT_OUT)
    domains: dict[str, Ids] | None = field(default=None, metadata=LEFT_OUT)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    """A NUMA node of a topology."""

    id: int
    cpus: Ids = ""
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Allowed:
    """What a process may use."""

    cpus: Ids


@dataclass(frozen=True)
class CpuGroup:
    """CPUs that share a core, or a last-level cache."""

    cpus: Ids


@dataclass(frozen=True)
class Machine:
    """`machine.json`: what readers need of a topology."""

    architecture: str | None = None
    processor: str | None = None
    cpus: Ids | None = None
    packages: list[Any] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    allowed: Allowed | None = None
    cores: list[CpuGroup] = field(default_factory=list)
    caches: list[CpuGroup] = field(default_factory=list)


@dataclass(frozen=True)
class Rate:
    """What the memory of one node sustains, in GB/s (10^9 bytes)."""

    best_gb_s: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Bandwidth:
    """What all memory sustains, by node."""

    nodes: dict[str, Rate] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Launched:
    """What is known of a run before it starts: how it is started, on what, and what is sampled.

    command: as it is shown, without secrets. arguments: the application and its own.
    cpus_of_node: of each NUMA node its CPUs, as the kernel lists them. sampling: seconds between
    two samples of each probe, at least. flame: the JDK's jcmd, which asks the JVMs for recordings;
    None where nobody wants them. flame_agent: async-profiler's library, which samples instead.
    """

    command: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    master: str | None = None
    arm: str | None = None
    configuration: dict[str, str] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    versions: dict[str, Any] = field(default_factory=dict)
    machine_settings: dict[str, Any] = field(default_factory=dict)
    probes: list[Probe] = field(default_factory=list)
    cpus_of_node: dict[str, Ids] = field(default_factory=dict)
    clock_ticks_per_s: int = 100
    page_bytes: int = 4096
    sampling: dict[str, float | None] = field(default_factory=dict)
    sustained_bandwidth: Measured[Bandwidth] | None = None
    flame: Measured[str] | None = field(default=None, metadata=LEFT_OUT)
    flame_agent: str | None = field(default=None, metadata=LEFT_OUT)

    def probe(self, name: str) -> Probe | None:
        """What was said of a probe."""
        return next((probe for probe in self.probes if probe.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Head(Launched):
    """`record.json`: the same, with what makes it a record."""

    schema: Literal["hearth/record/1"]
    id: str
    started: Moment
    clock: Clock
    owner: Owner
    application: str


@dataclass(frozen=True)
class End:
    """`end.json`: how the run ended, and its seconds; the code, or the signal that ended it."""

    state: State
    wall_s: float
    exit_code: int | None = field(default=None, metadata=LEFT_OUT)
    signal: int | None = field(default=None, metadata=LEFT_OUT)
    ended: Moment | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, kw_only=True)
class Warned:
    """A line of `warnings.jsonl`, which says when; a warning of an analysis, which has no time."""

    t: float | None = field(default=None, metadata=LEFT_OUT)
    what: str
    remedy: str | None


@dataclass(frozen=True)
class ProcessRow:
    """A line of `processes.jsonl`: a process was seen first, or is gone."""

    t: float
    pid: int
    start_ticks: int
    event: str | None = None
    role: str = "other"
    executor_id: str | None = None
    cpus_allowed: Ids | None = None
    mems_allowed: str | None = None
    policy: str | None = None


@dataclass(frozen=True)
class Recorded:
    """A line of `jfr.jsonl`: a JVM is recorded, or the reason why it is not."""

    pid: int
    role: str
    executor_id: str | None
    reason: str | None
