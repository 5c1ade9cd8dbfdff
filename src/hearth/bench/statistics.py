"""The few statistics that comparisons of runs need: median, spread, ratio with an interval."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: Below this an interval would be a guess: two pairs can only be drawn in three ways.
FEWEST_PAIRS = 3
_RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """The middle and the ends of some measured values, in their own unit."""

    median: float
    least: float
    most: float
    number: int

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        """Raises ValueError where there is no value: no spread is made up."""
        if not values:
            raise ValueError("no value was measured")
        return Spread(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians; the interval is None where there are too few pairs for one."""

    value: float
    interval: tuple[float, float] | None

    @property
    def is_certain(self) -> bool:
        """Whether the interval lies on one side of 1."""
        return self.interval is not None and not self.interval[0] <= 1.0 <= self.interval[1]


def paired_ratio(
    values: Sequence[float], base: Sequence[float], seed: int = 0, confidence: float = CONFIDENCE
) -> Ratio:
    """Ratio of the medians of two sides that were measured in pairs (same repetition).

    The interval is a percentile bootstrap over pairs (Efron 1979): pairs are drawn again
    with replacement, so that what disturbed both sides of a repetition stays in both.
    Raises ValueError where the sides differ in length, are empty, or the base is not above zero.
    """
    if len(values) != len(base) or not base:
        raise ValueError(f"{len(values)} and {len(base)} values are no pairs")
    if min(base) <= 0:
        raise ValueError(f"a ratio to {min(base)} says nothing")
    value = statistics.median(values) / statistics.median(base)
    if len(base) < FEWEST_PAIRS:
        return Ratio(value, None)
    draw = random.Random(seed)
    pairs = list(zip(values, base, strict=True))
    ratios = sorted(_resampled(pairs, draw) for _ in range(_RESAMPLES))
    tail = int(_RESAMPLES * (1 - confidence) / 2)
    return Ratio(value, (ratios[tail], ratios[-1 - tail]))


def _resampled(pairs: list[tuple[float, float]], draw: random.Random) -> float:
    chosen = draw.choices(pairs, k=len(pairs))
    mine, theirs = zip(*chosen, strict=True)
    return float(statistics.median(mine) / statistics.median(theirs))
