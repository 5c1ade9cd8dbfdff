"""The document of a tune: `hearth schema tune`, as dataclasses."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT, to_json
from hearth.base.limits import AboveZero, Amount, Count, OneOf, Positive, Time
from hearth.studies.models.space import Configuration, Interval, MachineSize, Role
from hearth.studies.tune.search_space import Refused

SCHEMA: Literal["hearth/tune/1"] = "hearth/tune/1"


@dataclass(frozen=True)
class TuneSettings:
    """The settings of a tune."""

    budget: Positive  #: most trials
    limit_s: AboveZero  #: of each trial
    runs: Positive  #: how often the result will be used


@dataclass(frozen=True)
class TunedSpace:
    """A summary of the search space."""

    configurations: Positive  #: how many
    refused: list[Refused]
    fixed: list[str]
    known_before: Count  #: earlier tunes that were known
    used: Count = 0  #: how many of them the forecasts use


@dataclass(frozen=True)
class ShownConfiguration:
    """A `Configuration`, with its name and its task slots."""

    master: str
    executors: Count  #: 0: one JVM is driver and executor
    cores: Positive  #: task slots of each
    heap_mb: int  #: of each; of the driver where one JVM is both
    binding: Annotated[str, OneOf("none", "CPUs", "node", "package", "machine")]
    collector: str
    varied: dict[str, str]
    java: str
    shown: str
    slots: Positive

    @staticmethod
    def of(one: Configuration) -> "ShownConfiguration":
        return ShownConfiguration(**to_json(one), shown=one.shown, slots=one.slots)


@dataclass(frozen=True)
class TunedTrial:
    """A trial."""

    number: Positive
    role: Role
    configuration: ShownConfiguration
    record: str | None  #: id of the run's record
    seconds: float | None
    stopped_s: float | None  #: when it was stopped because it could not be the best any more
    failure: str | None
    expected: list[float] | None  #: low, middle and high of the forecast before it
    measures: dict[str, Measured[float]]  #: of the run, as in a comparison
    why: str | None  #: the published class of a configuration that loses


@dataclass(frozen=True)
class Best:
    """The best configuration."""

    configuration: ShownConfiguration
    index: Count  #: its place among all
    runs: Positive
    expected: Interval
    confidence: float
    is_proposal: bool
    is_current: bool
    saving: Measured[Interval]  #: of the time of the user's own configuration
    why: list[str]


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of the logarithm of repeated runs."""

    share: Amount  #: standard deviation of the logarithm of repeated runs


@dataclass(frozen=True)
class ConfigurationForecast:
    """The forecast for a configuration."""

    configuration: str
    executors: Count
    cores: Positive
    choices: list[str]  #: kind, binding, collector, varied settings
    tried: bool
    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Tuned:
    """The result of a tune."""

    schema: Literal["hearth/tune/1"]
    id: str
    application: str
    timed: str  #: what the seconds are of
    started: Time
    command: list[str]  #: as typed, without secrets
    machine: MachineSize
    settings: TuneSettings
    space: TunedSpace
    trials: list[TunedTrial]
    best: Measured[Best]
    scatter: Measured[Scatter]
    forecasts: list[ConfigurationForecast]  #: of the configurations, the best first
    stopped: str | None  #: why no further trial was made; null where it is not over
    #: why no configuration is kept for `submit --tuned`; absent where the best is
    not_kept: str | None = field(default=None, metadata=LEFT_OUT)
    warnings: list[str] = field(default_factory=list)
