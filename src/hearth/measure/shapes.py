"""What readers count on in the documents of a record; more may stand in each.

Written by `hearth.measure.record`, described in contract/record.schema.json and its neighbours.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from hearth.model.ids import parse_ids

Ids = Annotated[str, parse_ids]
Moment = Annotated[str, datetime.fromisoformat]
State = Literal["finished", "failed", "interrupted"]


class Clock(TypedDict):
    """Both clocks, read at one moment."""

    wall_ns: int
    monotonic_ns: int


class Owner(TypedDict):
    """The process that writes a record."""

    pid: int
    start_ticks: int | None


class Probe(TypedDict):
    """What `survey` says of a probe."""

    name: str
    status: str
    reason: NotRequired[str | None]
    period_s: NotRequired[float]
    source: NotRequired[str | None]
    domains: NotRequired[dict[str, Ids]]


class Node(TypedDict):
    """A NUMA node of a topology."""

    id: int
    cpus: NotRequired[Ids]
    memory_bytes: NotRequired[int]


class Allowed(TypedDict):
    """What a process may use."""

    cpus: Ids


class Machine(TypedDict):
    """`machine.json`: a topology, or why there is none."""

    absent: NotRequired[str]
    architecture: NotRequired[str]
    cpus: NotRequired[Ids]
    packages: NotRequired[list[Any]]
    nodes: NotRequired[list[Node]]
    allowed: NotRequired[Allowed]


class Rate(TypedDict):
    """What the memory of one node sustains."""

    best_gb_s: float


class Bandwidth(TypedDict):
    """What all memory sustains, or why that is not known."""

    absent: NotRequired[str]
    nodes: NotRequired[dict[str, Rate]]


class Head(TypedDict):
    """`record.json`."""

    schema: Literal["hearth/record/1"]
    id: str
    started: Moment
    clock: Clock
    owner: Owner
    application: str
    master: NotRequired[str | None]
    arm: NotRequired[str | None]
    configuration: NotRequired[dict[str, str]]
    versions: NotRequired[dict[str, Any]]
    machine_settings: NotRequired[dict[str, Any]]
    probes: NotRequired[list[Probe]]
    cpus_of_node: NotRequired[dict[str, Ids]]
    clock_ticks_per_s: NotRequired[int]
    sustained_bandwidth: NotRequired[Bandwidth]


class End(TypedDict):
    """`end.json`."""

    state: State
    wall_s: float
    exit_code: NotRequired[int]
    signal: NotRequired[int]


class WarningRow(TypedDict):
    """A line of `warnings.jsonl`."""

    what: str
    remedy: str | None


class ProcessRow(TypedDict):
    """A line of `processes.jsonl`."""

    t: float
    pid: int
    start_ticks: int
    event: NotRequired[str]
    role: NotRequired[str]
    executor_id: NotRequired[str | None]
    cpus_allowed: NotRequired[Ids | None]
    mems_allowed: NotRequired[str | None]
    policy: NotRequired[str | None]
