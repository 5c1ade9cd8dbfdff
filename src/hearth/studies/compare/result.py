"""The documents of a comparison: what was asked (`comparison.json`) and what it says.

Dataclasses with the names of their JSON; what a comparison says is
`hearth schema comparison`.
"""

import statistics
from dataclasses import dataclass, field
from typing import Annotated, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import AboveZero, Amount, Confidence, Count, NonEmpty, OneOf, Positive, Time
from hearth.studies.engine.validity import ValidityWarning

SCHEMA: Literal["hearth/comparison/2"] = "hearth/comparison/2"

Against = Annotated[str, OneOf("faster", "slower", "equal", "undecided", "too few")]


def rising(numbers: list[int]) -> None:
    """Raise ValueError for numbers of pairs that do not increase."""
    if any(later <= earlier for earlier, later in zip([0, *numbers], numbers, strict=False)):
        raise ValueError("give increasing numbers of pairs")


Looks = Annotated[list[int], rising]


@dataclass(frozen=True)
class ComparisonSettings:
    """How a comparison runs its arms."""

    warmup: Count  #: runs of each arm that are not measured
    seed: int  #: of the random order of the arms
    cold: bool = False  #: whether the page cache was dropped before each run
    command: list[str] = field(default_factory=list)  #: what is run
    #: runs of each arm that were asked for; absent: see looks
    repeat: Positive | None = field(default=None, metadata=LEFT_OUT)
    #: of a comparison that stops by its result: the numbers of pairs after which it is checked
    looks: Looks | None = field(default=None, metadata=LEFT_OUT)
    #: what the seconds measure; absent: the application, from start to end
    timed: str | None = field(default=None, metadata=LEFT_OUT)
    #: memory bandwidth that the machine sustains, if it was measured
    sustained_gb_s: float | None = field(default=None, metadata=LEFT_OUT)
    #: Spark's options that were typed
    options: list[str] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def most(self) -> int:
        """The most measured runs of each arm."""
        return self.looks[-1] if self.looks else self.repeat or 0


@dataclass(frozen=True)
class ListedArm:
    """An arm that is to run."""

    name: str
    skipped: str | None = field(default=None, metadata=LEFT_OUT)  #: why it cannot be run here
    #: how the machine was set during its runs
    setting: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class ComparisonHead:
    """The setup of a comparison: `comparison.json`."""

    id: str
    application: str
    started: str
    baseline: str
    arms: list[ListedArm]
    settings: ComparisonSettings
    #: the key of the machine, where arms fix findings of the doctor's
    machine: str | None = field(default=None, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        """Raise ValueError where the baseline is not one of the arms."""
        if self.baseline not in [arm.name for arm in self.arms]:
            raise ValueError("its baseline is not one of its arms")

    @property
    def running(self) -> list[str]:
        """The arms that can be run here."""
        return [arm.name for arm in self.arms if not arm.skipped]


@dataclass(frozen=True)
class PairedRatio:
    """An arm's time to the baseline's: the centre of the paired ratios, and its interval.

    The centre is the geometric mean or, with more pairs, the Hodges-Lehmann estimate; the interval
    is by Student's t or by signed ranks, on logarithms. It is absent where there are too few pairs.
    """

    value: AboveZero
    #: repetitions that both finished; of a comparison that stops by its result, up to the last look
    pairs: Positive
    low: float | None = field(default=None, metadata=LEFT_OUT)
    high: float | None = field(default=None, metadata=LEFT_OUT)

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class ArmCpu:
    """What the runs of an arm used of the CPUs: the whole application, medians of its runs."""

    median_s: Amount  #: user and system together
    user_s: Amount
    system_s: Amount
    #: to the baseline, as for the times; absent for the baseline itself, and without a pair
    ratio: PairedRatio | None = field(default=None, metadata=LEFT_OUT)
    against: Against | None = field(default=None, metadata=LEFT_OUT)  #: faster: fewer CPU seconds


@dataclass(frozen=True)
class ArmCount:
    """What was counted in the runs of an arm."""

    median: Amount
    #: to the baseline, as for the times; absent for the baseline itself, and where a run of either
    #: counted none
    ratio: PairedRatio | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class ComparedArm:
    """One arm, and what its runs say."""

    name: str
    seconds: list[AboveZero]  #: wall time of each counted run, in the order of repetitions
    skipped: str | None = field(default=None, metadata=LEFT_OUT)  #: why the arm cannot be run here
    failures: list[str] | None = field(default=None, metadata=LEFT_OUT)  #: why runs of it failed
    median_s: float | None = field(default=None, metadata=LEFT_OUT)
    min_s: float | None = field(default=None, metadata=LEFT_OUT)
    max_s: float | None = field(default=None, metadata=LEFT_OUT)
    #: medians over the measured runs of what may explain a difference
    measures: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)
    #: of each run of `seconds`, of those that were measured in every one
    each: dict[str, list[float]] | None = field(default=None, metadata=LEFT_OUT)
    #: to the baseline; absent for the baseline itself, and without a pair
    ratio: PairedRatio | None = field(default=None, metadata=LEFT_OUT)
    #: what the ratio shows
    against: Against | None = field(default=None, metadata=LEFT_OUT)
    cpu: ArmCpu | None = field(default=None, metadata=LEFT_OUT)  #: absent where not on record
    #: page faults, TLB misses and loads from other nodes, those that were counted
    counts: dict[str, ArmCount] | None = field(default=None, metadata=LEFT_OUT)
    #: how the machine was set during its runs, such as the kernel's NUMA balancing
    setting: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def median(self) -> float:
        """The median of its seconds; raises statistics.StatisticsError without a run."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class ComparisonVerdict:
    """The arm to use; one sentence, and what speaks for it."""

    choice: str | None  #: the arm to use; null if undecided
    sentence: str
    why: list[str]


@dataclass(frozen=True)
class Compared:
    """The result of a comparison."""

    schema: Literal["hearth/comparison/2"]
    id: str
    application: str
    started: Time
    baseline: str  #: the baseline arm
    settings: ComparisonSettings
    confidence: Confidence  #: for all statements on the arms together, at every check
    confidence_each: Confidence  #: of each interval alone, such that confidence holds
    arms: NonEmpty[ComparedArm]
    verdict: ComparisonVerdict
    warnings: list[ValidityWarning]  #: reasons to doubt the times, with the remedy

    @property
    def finished(self) -> list[ComparedArm]:
        """The arms with a measured run."""
        return [arm for arm in self.arms if arm.seconds]
