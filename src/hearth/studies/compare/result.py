"""The documents of a comparison: what was asked (`comparison.json`) and what it says.

Dataclasses with the names of their JSON (`model.documents` reads and writes them); what a
comparison says is contract/comparison.schema.json.
"""

import statistics
from dataclasses import dataclass, field

from hearth.base.codec import LEFT_OUT
from hearth.studies.engine.schema import Absent, Doubt, Looks

SCHEMA = "hearth/comparison/2"


@dataclass(frozen=True)
class Settings:
    """How a comparison runs its arms.

    repeat: runs of each arm that count; else `looks`, the numbers of them after which it looks
    whether it is certain. cold: the page cache is dropped before each run. command: what is run.
    timed: what the seconds are of; None for the application from start to end.
    """

    warmup: int
    seed: int
    cold: bool = False
    command: list[str] = field(default_factory=list)
    repeat: int | None = field(default=None, metadata=LEFT_OUT)
    looks: Looks | None = field(default=None, metadata=LEFT_OUT)
    timed: str | None = field(default=None, metadata=LEFT_OUT)
    sustained_gb_s: float | None = field(default=None, metadata=LEFT_OUT)

    @property
    def most(self) -> int:
        """Runs of each arm that count, at most."""
        return self.looks[-1] if self.looks else self.repeat or 0


@dataclass(frozen=True)
class ListedArm:
    """An arm that is to run. skipped: the reason why it cannot be run here."""

    name: str
    skipped: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Head:
    """What is compared: `comparison.json`."""

    id: str
    application: str
    started: str
    baseline: str
    arms: list[ListedArm]
    settings: Settings

    @property
    def running(self) -> list[str]:
        """The arms that can be run here."""
        return [arm.name for arm in self.arms if not arm.skipped]


@dataclass(frozen=True)
class PairedRatio:
    """An arm's time to the baseline's, over pairs of runs; no interval of too few."""

    value: float
    pairs: int
    low: float | None = field(default=None, metadata=LEFT_OUT)
    high: float | None = field(default=None, metadata=LEFT_OUT)

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class ComparedArm:
    """One arm: the seconds of its runs that count, why others failed, what was measured.

    ratio: to the baseline; against: what it shows (`faster`, `slower`, `equal`, `undecided` or
    `too few`). Both are None for the baseline itself, and without a pair.
    """

    name: str
    seconds: list[float]
    skipped: str | None = field(default=None, metadata=LEFT_OUT)
    failures: list[str] | None = field(default=None, metadata=LEFT_OUT)
    median_s: float | None = field(default=None, metadata=LEFT_OUT)
    min_s: float | None = field(default=None, metadata=LEFT_OUT)
    max_s: float | None = field(default=None, metadata=LEFT_OUT)
    measures: dict[str, float | Absent] | None = field(default=None, metadata=LEFT_OUT)
    ratio: PairedRatio | None = field(default=None, metadata=LEFT_OUT)
    against: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def median(self) -> float:
        """Of its seconds; raises statistics.StatisticsError for an arm without a run."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Verdict:
    """The arm to use, or None; one sentence, and what speaks for it."""

    choice: str | None
    sentence: str
    why: list[str]


@dataclass(frozen=True)
class Compared:
    """What a comparison says.

    confidence: of all claims together; confidence_each: of one claim alone.
    """

    schema: str
    id: str
    application: str
    started: str
    baseline: str
    settings: Settings
    confidence: float
    confidence_each: float
    arms: list[ComparedArm]
    verdict: Verdict
    warnings: list[Doubt]

    @property
    def finished(self) -> list[ComparedArm]:
        """The arms with a run that counts."""
        return [arm for arm in self.arms if arm.seconds]
