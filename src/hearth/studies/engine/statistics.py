"""The statistics of comparisons: spread, the ratio of paired times with its interval, and its
meaning.

`paired_ratio` and `against` are the one way from times to a claim, for programs too. How often they
are wrong is simulated by benchmarks/coverage.py. numpy and scipy are imported where they are used:
most commands need neither.
"""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Below this there is no interval: that of two pairs would be wider than any difference.
FEWEST_PAIRS = 3
CONFIDENCE = 0.95
#: Two arms whose interval lies within this of 1 are called equal.
EQUAL_WITHIN = 0.03
#: The numbers of pairs after which a comparison looks at its result, to stop where it is clear:
#: for a first answer, and where it goes on until it is certain.
FIRST_LOOKS = (3, 5, 8)
LOOKS = (5, 7, 10, 14, 20, 30)
#: Ranks are used where at least this many patterns of signs are rarer than the error allowed.
_PATTERNS = 10
_MOST_LOGARITHM = 700.0


@dataclass(frozen=True)
class Ratio:
    """A ratio of paired times; the interval is None where there are too few pairs for one."""

    value: float
    interval: tuple[float, float] | None

    @property
    def is_certain(self) -> bool:
        """Whether the interval lies on one side of 1."""
        return self.interval is not None and not self.interval[0] <= 1.0 <= self.interval[1]


def paired_ratio(
    values: Sequence[float], base: Sequence[float], confidence: float = CONFIDENCE
) -> Ratio:
    """Return the ratio of two sides that were measured in pairs (same repetition), and its
    interval.

    Both are of the logarithms of the pairs' ratios, so that what disturbed both sides of a pair
    drops out; see `intervals`. Raises ValueError where the sides differ in length, are empty, or
    hold a time that is not above zero.
    """
    if len(values) != len(base) or not base:
        raise ValueError(f"{len(values)} and {len(base)} values are not pairs")
    if min(*values, *base) <= 0:
        raise ValueError(f"a ratio with {min(*values, *base)} says nothing")
    logs = [math.log(mine) - math.log(theirs) for mine, theirs in zip(values, base, strict=True)]
    if len(logs) < FEWEST_PAIRS:
        return Ratio(_ratio(statistics.fmean(logs)), None)
    middle, low, high = (_ratio(float(end)) for end in intervals(logs, confidence))
    return Ratio(middle, (low, high))


def _ratio(logarithm: float) -> float:
    """Return its exponential, which stays a number however wide an interval of three pairs is."""
    return math.exp(max(-_MOST_LOGARITHM, min(logarithm, _MOST_LOGARITHM)))


def against(ratio: Ratio) -> str:
    """Return `faster`, `slower`, `equal` (interval within EQUAL_WITHIN of 1) or `undecided`.

    `equal` is two one-sided tests (Schuirmann 1987) at half the error of the interval each.
    """
    if ratio.interval is None:
        return "undecided"
    low, high = ratio.interval
    if low >= 1 - EQUAL_WITHIN and high <= 1 + EQUAL_WITHIN:
        return "equal"
    if high < 1:
        return "faster"
    return "slower" if low > 1 else "undecided"


def intervals(
    differences: "Sequence[float] | NDArray[np.float64]", confidence: float
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Estimate, low and high end, of paired differences along the last axis.

    Student's t (1908) for few pairs; Wilcoxon's signed ranks (1945) with the estimate of Hodges
    and Lehmann (1963) for more, which runs that were disturbed now and then hardly widen. Which of
    them follows from the number of pairs and the confidence alone, never from the values. Both need
    differences that are as likely to fall on either side of their middle: random order within
    each pair sees to that where the sides are equal, whatever the noise.
    """
    import numpy as np

    given = np.asarray(differences, dtype=np.float64)
    by = _by_ranks if uses_ranks(given.shape[-1], confidence) else _by_t
    return by(given, confidence)


def uses_ranks(pairs: int, confidence: float) -> bool:
    """Return whether there are pairs enough for ranks: from 9 at 95 %, from 10 at 97.5 %."""
    return 2.0 ** (1 - pairs) * _PATTERNS <= 1 - confidence


def _by_t(
    given: "NDArray[np.float64]", confidence: float
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    import numpy as np

    pairs = given.shape[-1]
    middle = given.mean(axis=-1)
    half = _quantile_of_t(pairs - 1, confidence) * given.std(axis=-1, ddof=1) / np.sqrt(pairs)
    return middle, middle - half, middle + half


def _quantile_of_t(freedom: int, confidence: float) -> float:
    from scipy import special

    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def _by_ranks(
    given: "NDArray[np.float64]", confidence: float
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Put ends between two means of pairs of values, as the error lies between their two levels."""
    import numpy as np

    pairs = given.shape[-1]
    one, other = np.triu_indices(pairs)
    means = np.sort((given[..., one] + given[..., other]) / 2, axis=-1)
    tail = (1 - confidence) / 2
    below = _rank_sums(pairs)
    rank = int(np.searchsorted(below, tail, side="right"))
    share = (tail - below[rank - 1]) / (below[rank] - below[rank - 1])
    low = means[..., rank - 1] * (1 - share) + means[..., rank] * share
    high = means[..., -rank] * (1 - share) + means[..., -rank - 1] * share
    return np.median(means, axis=-1), low, high


@functools.cache
def _rank_sums(pairs: int) -> "NDArray[np.float64]":
    """Return the chance that the ranks of positive signs add up to at most 0, 1, 2, ...

    By coin flips.
    """
    import numpy as np

    chances = np.ones(1)
    for rank in range(1, pairs + 1):
        flipped = np.zeros(len(chances) + rank)
        flipped[: len(chances)] = chances / 2
        flipped[rank:] += chances / 2
        chances = flipped
    return np.cumsum(chances)


@functools.cache
def each_confidence(confidence: float, claims: int, looks: tuple[int, ...] = ()) -> float:
    """Return the confidence of each interval, so that it holds for all of them together, at every
    look.

    Between claims the error is divided evenly (Bonferroni). Over looks it is spent by one level
    for all of them (Pocock 1977), found from the joint normal distribution of the looks and used
    for t and ranks as Jennison and Turnbull do (2000, section 4.4).
    """
    error = (1 - confidence) / max(claims, 1)
    return 1 - (_level_of_looks(error, looks) if len(looks) > 1 else error)


def _level_of_looks(error: float, looks: tuple[int, ...]) -> float:
    """Return the level at which tests after these numbers of pairs are wrong so often together."""
    from scipy import optimize, special

    alone = float(special.ndtri(1 - error / 2))
    divided = float(special.ndtri(1 - error / len(looks) / 2))
    bound = optimize.brentq(lambda z: _crossing(z, looks) - error, alone, divided)
    return float(2 * special.ndtr(-bound))


def _crossing(bound: float, looks: tuple[int, ...]) -> float:
    """Return the chance that a sum of normal values leaves +-`bound` standard deviations at some
    look.

    From look to look by numerical integration (Armitage, McPherson and Rowe 1969).
    """
    import numpy as np

    places, weights = np.polynomial.legendre.leggauss(80)
    points, density, before = np.zeros(1), np.ones(1), 0
    for look in looks:
        end, spread = bound * look**0.5, (look - before) ** 0.5
        steps = (end * places[:, None] - points[None, :]) / spread
        arriving = np.exp(-(steps**2) / 2) / (spread * (2 * np.pi) ** 0.5)
        points, density, before = end * places, end * weights * (arriving @ density), look
    return 1 - float(density.sum())


def reached(looks: Sequence[int], pairs: int) -> int:
    """Return how many of the pairs count: all, or those up to the last look."""
    return max((look for look in looks if look <= pairs), default=0) if looks else pairs


def needed(interval: tuple[float, float], pairs: int, within: float) -> int:
    """Return about how many pairs of this scatter have an interval of +-`within` (0.05: 5 %)."""
    half = (math.log(interval[1]) - math.log(interval[0])) / 2
    return max(math.ceil(pairs * (half / math.log1p(within)) ** 2), FEWEST_PAIRS)
