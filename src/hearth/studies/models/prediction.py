"""The documents of `hearth lab predict`: `hearth schema prediction`, as dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.absent import Measured
from hearth.base.limits import AboveZero, NonEmpty, Positive
from hearth.studies.models.binding import Binding
from hearth.studies.models.placement import Placed
from hearth.studies.models.space import Interval

SCHEMA: Literal["hearth/prediction/1"] = "hearth/prediction/1"


@dataclass(frozen=True)
class PredictedRun:
    """The run that is predicted from."""

    id: str | None  #: of its record; null of a bare event log
    application: str | None
    seconds: AboveZero
    executors: Positive
    cores: Positive  #: task slots of each
    stages: Positive
    tasks: Positive
    #: measured less scheduled, of its own partitioning: part of every prediction
    scheduling_error_s: float
    started: str | None = None


@dataclass(frozen=True)
class NodesOfRun:
    """The binding of executors, and their number of NUMA nodes."""

    binding: Binding  #: what executors are bound to
    nodes: Positive  #: NUMA nodes that they are on


@dataclass(frozen=True)
class PredictedPlace:
    """The nodes of the run, and those that it is predicted for."""

    from_: NodesOfRun
    to: NodesOfRun
    effect: Measured[Interval]  #: by what the time is multiplied as memory gets nearer or farther

    @staticmethod
    def of(placed: Placed) -> "PredictedPlace":
        ran = NodesOfRun(placed.ran.binding, placed.ran.nodes)
        return PredictedPlace(ran, NodesOfRun(placed.binding, placed.nodes), placed.effect)


@dataclass(frozen=True)
class PredictedPartitioning:
    """Seconds with so many executors of so many cores: low, expected, high."""

    executors: Positive
    cores: Positive
    heap_gb: AboveZero
    low: AboveZero
    value: AboveZero
    high: AboveZero


@dataclass(frozen=True)
class PredictedPartitionings:
    """A run under other partitionings, the fastest first."""

    from_: PredictedRun
    place: PredictedPlace  #: where the run was, and where it is predicted to be
    confidence: AboveZero
    predictions: NonEmpty[PredictedPartitioning]  #: the fastest first
    notes: list[str] = field(default_factory=list)
    schema: Literal["hearth/prediction/1"] = SCHEMA
