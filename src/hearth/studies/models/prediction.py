"""The documents of `hearth predict`: contract/prediction.schema.json, as dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.absent import Measured
from hearth.studies.models.binding import Binding
from hearth.studies.models.placement import Effect, Placed

SCHEMA: Literal["hearth/prediction/1"] = "hearth/prediction/1"


@dataclass(frozen=True)
class PredictedRun:
    """The run that is predicted from. id: of its record; None of a bare event log.

    scheduling_error_s: measured less scheduled, of its own partitioning: part of every prediction.
    """

    id: str | None
    application: str | None
    seconds: float
    executors: int
    cores: int
    stages: int
    tasks: int
    scheduling_error_s: float


@dataclass(frozen=True)
class NodesOfRun:
    """What executors are bound to, and on how many NUMA nodes they are."""

    binding: Binding
    nodes: int


@dataclass(frozen=True)
class PredictedPlace:
    """Where the run was, and where it is predicted to be."""

    from_: NodesOfRun
    to: NodesOfRun
    effect: Measured[Effect]

    @staticmethod
    def of(placed: Placed) -> "PredictedPlace":
        ran = NodesOfRun(placed.ran.binding, placed.ran.nodes)
        return PredictedPlace(ran, NodesOfRun(placed.binding, placed.nodes), placed.effect)


@dataclass(frozen=True)
class PredictedPartitioning:
    """Seconds with so many executors of so many cores: low, expected, high."""

    executors: int
    cores: int
    heap_gb: float
    low: float
    value: float
    high: float


@dataclass(frozen=True)
class PredictedPartitionings:
    """A run under other partitionings, the fastest first."""

    from_: PredictedRun
    place: PredictedPlace
    confidence: float
    predictions: list[PredictedPartitioning]
    notes: list[str] = field(default_factory=list)
    schema: Literal["hearth/prediction/1"] = SCHEMA


@dataclass(frozen=True)
class PredictedScaling:
    """A workload's time on a number of nodes, relative to that on one node."""

    workload: str
    nodes: int
    predicted: float
    measured: float
    error: float


@dataclass(frozen=True)
class PredictedScalings:
    """Each workload of a table of speedups, predicted from the others."""

    scaling: list[PredictedScaling]
    schema: Literal["hearth/prediction/1"] = SCHEMA
