"""The documents of a record; each that is read may hold more.

Written by `hearth.record.store`, described in `hearth schema record` and its neighbours.
Times in seconds are on the record's axis, zero being its start.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.ids import parse_ids
from hearth.base.limits import Count, Limits, OneOf

Ids = Annotated[str, parse_ids]
Moment = Annotated[str, datetime.fromisoformat, Limits(format="date-time")]
RecordId = Annotated[str, Limits(pattern=r"^[0-9]{8}-[0-9]{6}-[a-z0-9-]+-[0-9a-f]{4}$")]
State = Literal["finished", "failed", "interrupted"]


@dataclass(frozen=True)
class ClockReading:
    """Both clocks in nanoseconds, read at one moment: zero of every `t`."""

    wall_ns: Count
    monotonic_ns: Count


@dataclass(frozen=True)
class Owner:
    """The process that writes a record; its start in clock ticks since the boot."""

    pid: int
    start_ticks: int | None


@dataclass(frozen=True)
class ProbeStatus:
    """The state of a probe, as `survey` returns it."""

    name: str
    status: Annotated[str, OneOf("on", "absent")]
    reason: str | None = None
    #: seconds between two samples at least
    period_s: float | None = field(default=None, metadata=LEFT_OUT)
    #: what counts the bandwidth
    source: str | None = field(default=None, metadata=LEFT_OUT)
    #: the CPUs of each of its domains
    domains: dict[str, Ids] | None = field(default=None, metadata=LEFT_OUT)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedNode:
    """A NUMA node of a topology."""

    id: int
    cpus: Ids = ""
    memory_bytes: int | None = None


@dataclass(frozen=True)
class AllowedCpus:
    """The part of the machine that a process may use."""

    cpus: Ids


@dataclass(frozen=True)
class CpuGroup:
    """CPUs that share a core, or a last-level cache."""

    cpus: Ids


@dataclass(frozen=True)
class RecordedMachine:
    """`machine.json`: what readers need of a topology."""

    architecture: str | None = None
    processor: str | None = None
    cpus: Ids | None = None
    packages: list[Any] = field(default_factory=list)
    nodes: list[RecordedNode] = field(default_factory=list)
    allowed: AllowedCpus | None = None
    cores: list[CpuGroup] = field(default_factory=list)
    caches: list[CpuGroup] = field(default_factory=list)


@dataclass(frozen=True)
class Rate:
    """The sustained bandwidth of one node's memory, in GB/s (10^9 bytes)."""

    best_gb_s: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SustainedBandwidth:
    """The sustained bandwidth of all memory, by node."""

    nodes: dict[str, Rate] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """A setting of the machine, and the file that it was read from."""

    value: str
    source: str


@dataclass(frozen=True)
class RecordedExecutor:
    """The part of a planned executor that readers need."""

    cpus: Ids
    task_slots: int
    heap_mb: int
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedPlan:
    """The part of a plan that readers need."""

    mode: str
    executors: list[RecordedExecutor]
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A run before it starts: its command, its machine, and what is sampled."""

    command: list[str] = field(default_factory=list)  #: as it is shown, without secrets
    arguments: list[str] = field(default_factory=list)  #: the application and its own
    master: str | None = None
    arm: str | None = None  #: of a comparison
    configuration: dict[str, str] = field(default_factory=dict)
    plan: RecordedPlan | None = None  #: as `hearth schema plan`, without secrets
    versions: dict[str, str] = field(default_factory=dict)
    machine_settings: dict[str, Measured[Setting]] = field(default_factory=dict)
    probes: list[ProbeStatus] = field(default_factory=list)
    #: of each NUMA node its CPUs, as the kernel lists them
    cpus_of_node: dict[str, Ids] = field(default_factory=dict)
    clock_ticks_per_s: Count = 100
    sustained_bandwidth: Measured[SustainedBandwidth] | None = None

    def probe(self, name: str) -> ProbeStatus | None:
        """Return the recorded state of a probe."""
        return next((probe for probe in self.probes if probe.name == name), None)


@dataclass(frozen=True, kw_only=True)
class RecordHead(Launched):
    """The facts known when a recorded run starts: `record.json`.

    Written once, when the run starts; next to it are eventlog/, gc/, samples/, processes.jsonl,
    warnings.jsonl, soon after the start machine.json (`hearth schema topology`, or an object with
    the reason as `absent`) and, at the end, end.json.
    """

    schema: Literal["hearth/record/1"]
    id: RecordId
    started: Moment
    clock: ClockReading
    owner: Owner
    application: str


@dataclass(frozen=True)
class End:
    """`end.json`: how the run ended, and its seconds; the code, or the signal that ended it.

    cpu_user_s, cpu_system_s: what the driver used, and all that it had started and waited for.
    """

    state: State
    wall_s: float
    cpu_user_s: float | None = field(default=None, metadata=LEFT_OUT)
    cpu_system_s: float | None = field(default=None, metadata=LEFT_OUT)
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
    policy: str | None = None
