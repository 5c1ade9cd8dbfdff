"""A published number beside the one measured here, judged: does it hold on this machine?

Only what two machines can share is judged: ratios of two arms, or of a cell of a sweep to the best
one. Seconds, gigabytes and counts are of their machine.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from hearth.base.limits import OneOf
from hearth.studies.engine.statistics import CONFIDENCE, FEWEST_PAIRS, intervals

#: A ratio whose interval is this near to the published one agrees with it, or within half of the
#: published effect, if that is less.
TOLERANCE = 0.05
#: An interval whose ends are more than so many times apart says nothing.
TOO_WIDE = 1.5
REPRODUCED, CONTRADICTED, UNDECIDED, NOT_HERE = VERDICTS = (
    "reproduced", "contradicted", "undecided", "not here",
)  # fmt: skip
Verdict = Annotated[str, OneOf(*VERDICTS)]


@dataclass(frozen=True)
class Measured:
    """A ratio, and its interval; None where too few runs were made for one."""

    ratio: float
    interval: tuple[float, float] | None = None

    @staticmethod
    def of(ratios: Sequence[float]) -> "Measured":
        """Return that of the ratios of single runs."""
        logs = [math.log(ratio) for ratio in ratios]
        if len(logs) < FEWEST_PAIRS:
            return Measured(math.exp(statistics.fmean(logs)))
        middle, low, high = (math.exp(float(end)) for end in intervals(logs, CONFIDENCE))
        return Measured(middle, (low, high))


def ratios(over: Sequence[float], arm: Sequence[float]) -> list[float]:
    """Return how many times as fast an arm was as another one, run by run."""
    return [theirs / mine for theirs, mine in zip(over, arm, strict=False)]


def mean(each: Sequence[Sequence[float]]) -> list[float]:
    """Return the geometric mean of several workloads, run by run."""
    return [statistics.geometric_mean(run) for run in zip(*each, strict=False)]


def judged(published: float, measured: Measured) -> str:
    """Return the verdict on a published ratio; an interval that holds 1, too, shows no effect."""
    if measured.interval is None:
        return UNDECIDED
    low, high = measured.interval
    near = min(1 + TOLERANCE, math.sqrt(max(published, 1 / published)))
    if published / near <= low and high <= published * near:
        return REPRODUCED
    if not low <= published <= high:
        return CONTRADICTED
    return UNDECIDED if high > low * TOO_WIDE or low <= 1 <= high else REPRODUCED
