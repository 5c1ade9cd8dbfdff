"""The document of a tune: contract/tune.schema.json, as dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.absent import Measured
from hearth.base.codec import to_json
from hearth.studies.models.space import Configuration, MachineSize, Role
from hearth.studies.tune.search_space import Refused

SCHEMA: Literal["hearth/tune/1"] = "hearth/tune/1"
Objective = Literal["time", "throughput", "core-seconds", "time,core-seconds"]


@dataclass(frozen=True)
class TuneSettings:
    """budget: most trials. limit_s: of each. runs: how often the result will be used."""

    objective: Objective
    budget: int
    limit_s: float
    runs: int


@dataclass(frozen=True)
class Interval:
    """What is expected, and the ends of its interval."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class TunedSpace:
    """What could be tried. configurations: how many. known_before: earlier tunes that were known;
    used: how many of them the forecasts use."""

    configurations: int
    refused: list[Refused]
    fixed: list[str]
    known_before: int
    used: int = 0


@dataclass(frozen=True)
class ShownConfiguration:
    """A `Configuration`, with its name and its task slots."""

    master: str
    executors: int
    cores: int
    heap_mb: int
    binding: str
    collector: str
    varied: dict[str, str]
    java: str
    shown: str
    slots: int

    @staticmethod
    def of(one: Configuration) -> "ShownConfiguration":
        return ShownConfiguration(**to_json(one), shown=one.shown, slots=one.slots)


@dataclass(frozen=True)
class TunedTrial:
    """A trial. value: what is minimised, None where it did not end.

    expected: low, middle and high of the forecast before it. pareto: whether no other trial took
    less time and fewer core-seconds. why: the published class of a configuration that loses.
    """

    number: int
    role: Role
    configuration: ShownConfiguration
    record: str | None
    seconds: float | None
    value: float | None
    stopped_s: float | None
    failure: str | None
    expected: list[float] | None
    measures: dict[str, Measured[float]]
    pareto: bool
    why: str | None


@dataclass(frozen=True)
class Best:
    """The best configuration. index: its place among all. saving: of the user's own value."""

    configuration: ShownConfiguration
    index: int
    runs: int
    expected: Interval
    confidence: float
    is_proposal: bool
    is_current: bool
    saving: Measured[Interval]
    why: list[str]


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of the logarithm of repeated runs."""

    share: float


@dataclass(frozen=True)
class ConfigurationForecast:
    """What is believed of a configuration. choices: kind, binding, collector, varied settings."""

    configuration: str
    executors: int
    cores: int
    choices: list[str]
    tried: bool
    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Tuned:
    """What a tune says. stopped: why no further trial was made; None where it is not over."""

    schema: Literal["hearth/tune/1"]
    id: str
    application: str
    timed: str
    started: str
    command: list[str]
    machine: MachineSize
    settings: TuneSettings
    space: TunedSpace
    trials: list[TunedTrial]
    best: Measured[Best]
    scatter: Measured[Scatter]
    forecasts: list[ConfigurationForecast]
    stopped: str | None
    warnings: list[str] = field(default_factory=list)
