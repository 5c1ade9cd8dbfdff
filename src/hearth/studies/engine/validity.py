"""Warnings: reasons to doubt the times of a comparison, and what to do.

Each kind is found where at most CHANCE of comparisons of undisturbed runs (independent, their
logarithms normal) look like it, however many arms they have, and where it is worth more than WORTH
of a run's time. How often each is found and missed is simulated by benchmarks/coverage.py.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from hearth.analysis.findings import OTHER_LOAD_SHARE
from hearth.base.limits import OneOf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Statistic = Callable[[Array], Array]

CHANCE = 0.01
WORTH = 0.03
_DRAWS = 20_000


@dataclass(frozen=True)
class ValidityWarning:
    """A reason to doubt times."""

    #: the last two are of the verdict
    kind: Annotated[
        str,
        OneOf(
            "outlier", "two-groups", "slow-first", "drift", "own-state", "other-load", "other-plan"
        ),
    ]
    sentence: str  #: what was found and what to do about it


def busy_runs(shares: Iterable[object], runs: str, again: str) -> list[str]:
    """Return where other programs used much of the machine. shares: `other_load` of each run.

    runs: what these are; again: what to do once more.
    """
    known = [share for share in shares if isinstance(share, int | float)]
    busy = [share for share in known if share > OTHER_LOAD_SHARE]
    if not busy:
        return []
    return [
        f"other programs used more than {OTHER_LOAD_SHARE:.0%} of the machine's CPUs during "
        f"{len(busy)} of {len(known)} {runs} ({max(busy):.0%} in one of them): {again} on a quiet "
        "machine"
    ]


@dataclass(frozen=True)
class TimedRun:
    """A measured run."""

    arm: str
    repetition: int
    seconds: float


def validity_warnings(runs: Sequence[TimedRun], baseline: str) -> list[ValidityWarning]:
    """Return warnings about these runs, which are in chronological order."""
    import numpy as np

    if not runs:
        return []
    logs = np.log(np.array([run.seconds for run in runs]))
    names = list(dict.fromkeys(run.arm for run in runs))
    places = {name: [i for i, run in enumerate(runs) if run.arm == name] for name in names}
    centred = logs.copy()
    for of_arm in places.values():
        centred[of_arm] -= centred[of_arm].mean()
    first = _slow_first(runs, centred)
    later = [i for i, run in enumerate(runs) if first is None or run.repetition > 0]
    drift = _drift([runs[i] for i in later], centred[later])
    warnings: list[ValidityWarning | None] = [first, drift]
    chance = CHANCE / len(names)
    for name, of_arm in places.items():
        kept = [i for i in of_arm if i in later]
        warnings.append(_outlier([runs[i] for i in kept], logs[kept], chance))
        warnings.append(_two_groups(name, logs[of_arm], chance))
        if name != baseline and baseline in places:
            warnings.append(_own_state(name, baseline, runs, CHANCE / (len(names) - 1)))
    return [warning for warning in warnings if warning is not None]


def _slow_first(runs: Sequence[TimedRun], centred: "Array") -> ValidityWarning | None:
    """Return the first repetition against the others, by the t test of one new observation."""
    import numpy as np
    from scipy import special

    numbers = sorted({run.repetition for run in runs})
    if len(numbers) < 4:
        return None
    of = np.array([run.repetition for run in runs])
    means = np.array([centred[of == number].mean() for number in numbers])
    rest = means[1:]
    more = float(means[0] - rest.mean())
    error = float(rest.std(ddof=1)) * math.sqrt(1 + 1 / len(rest))
    if more < math.log1p(WORTH) or more < special.stdtrit(len(rest) - 1, 1 - CHANCE) * error:
        return None
    return ValidityWarning(
        "slow-first",
        f"the first repetition took {_share(more):.0%} longer than the others: "
        "warm up longer (--warmup, one more than now)",
    )


def _drift(runs: Sequence[TimedRun], centred: "Array") -> ValidityWarning | None:
    """Test whether times, centred by arm, drift with the order of runs: t of a line's slope."""
    import numpy as np
    from scipy import special

    names = [run.arm for run in runs]
    freedom = len(runs) - len(set(names)) - 1
    if freedom < 1:
        return None
    order = np.arange(len(runs), dtype=np.float64)
    values = centred.copy()
    for name in set(names):
        of_arm = [i for i, other in enumerate(names) if other == name]
        order[of_arm] -= order[of_arm].mean()
        values[of_arm] -= values[of_arm].mean()
    slope = float(order @ values / (order @ order))
    left = values - slope * order
    error = math.sqrt(float(left @ left) / freedom / float(order @ order))
    change = slope * (len(runs) - 1)
    limit = float(special.stdtrit(freedom, 1 - CHANCE / 2))
    if abs(change) < math.log1p(WORTH) or abs(slope) < limit * error:
        return None
    return ValidityWarning(
        "drift",
        f"from the first run to the last all became {abs(_share(change)):.0%} "
        f"{'slower' if change > 0 else 'faster'}: the machine was not idle (heat, other work, "
        "a disk that fills); let it settle and repeat, with at least 6 repetitions: fewer "
        "cannot correct for a drift",
    )


def _share(change: float) -> float:
    """Return the share that a change of the logarithm means; a damaged file may hold any."""
    return math.expm1(min(change, 700.0))


def _outlier(runs: Sequence[TimedRun], logs: "Array", chance: float) -> ValidityWarning | None:
    import numpy as np

    if len(runs) < 5:
        return None
    middle = float(np.median(logs))
    far = int(np.argmax(np.abs(logs - middle)))
    away = float(logs[far]) - middle
    if abs(away) < math.log1p(WORTH) or _farthest(logs) < _limit(_farthest, len(runs), chance):
        return None
    run = runs[far]
    return ValidityWarning(
        "outlier",
        f"{run.arm} took {run.seconds:.2f} s in run {run.repetition + 1}, its median is "
        f"{math.exp(middle):.2f} s: check that run's report for other work, and repeat on a quiet "
        "machine; from about 10 repetitions on an outlier hardly widens the interval",
    )


def _farthest(logs: "Array") -> "Array":
    """Return the farthest from the median, by the scatter of the nearer three quarters."""
    import numpy as np

    away = np.sort(np.abs(logs - np.median(logs, axis=-1, keepdims=True)), axis=-1)
    near = away[..., : math.ceil(0.75 * logs.shape[-1])]
    return _over(away[..., -1] ** 2, (near**2).mean(axis=-1))


def _two_groups(name: str, logs: "Array", chance: float) -> ValidityWarning | None:
    import numpy as np

    if len(logs) < 7:
        return None
    ordered = np.sort(logs)
    cut = int(np.argmin(_within(logs))) + _least_group(len(logs))
    low, high = float(ordered[:cut].mean()), float(ordered[cut:].mean())
    if high - low < math.log1p(WORTH) or _apart(logs) < _limit(_apart, len(logs), chance):
        return None
    return ValidityWarning(
        "two-groups",
        f"{name} has two kinds of runs, {cut} of about {math.exp(low):.2f} s and "
        f"{len(logs) - cut} of about {math.exp(high):.2f} s: compare the report of one of each to "
        "see what differs, and fix that; an average of two kinds describes neither",
    )


def _least_group(number: int) -> int:
    return max(2, number // 5)


def _within(logs: "Array") -> "Array":
    """Return the sum of squares within two groups for each cut of the ordered values."""
    import numpy as np

    ordered = np.sort(logs, axis=-1)
    number = logs.shape[-1]
    least = _least_group(number)
    size = np.arange(least, number - least + 1)
    sums, squares = ordered.cumsum(axis=-1), (ordered**2).cumsum(axis=-1)
    low, low_squares = sums[..., size - 1], squares[..., size - 1]
    high, high_squares = sums[..., -1:] - low, squares[..., -1:] - low_squares
    left: Array = low_squares - low**2 / size + high_squares - high**2 / (number - size)
    return left


def _apart(logs: "Array") -> "Array":
    """Return all squares by those left within two groups, cut where least is left (Fisher 1958)."""
    centred = logs - logs.mean(axis=-1, keepdims=True)
    return _over((centred**2).sum(axis=-1), _within(centred).min(axis=-1))


def _own_state(
    name: str, baseline: str, runs: Sequence[TimedRun], chance: float
) -> ValidityWarning | None:
    """Return whether the ratio of a repetition resembles that of the one before."""
    import numpy as np

    seconds = {(run.arm, run.repetition): run.seconds for run in runs}
    both = sorted(r for arm, r in seconds if arm == name and (baseline, r) in seconds)
    if len(both) < 7:
        return None
    logs = np.array([math.log(seconds[name, r] / seconds[baseline, r]) for r in both])
    if logs.std() < math.log1p(WORTH) / 2 or _resembling(logs) < _limit(
        _resembling, len(logs), chance
    ):
        return None
    return ValidityWarning(
        "own-state",
        f"the ratio of {name} to {baseline} is correlated from one repetition to the next, so the "
        "interval is too narrow: something persists between its runs (files, caches, a drift of "
        "one side); remove it (compare --cold empties the page cache), or repeat another day",
    )


def _resembling(logs: "Array") -> "Array":
    """Return the correlation of each value with the next."""
    centred = logs - logs.mean(axis=-1, keepdims=True)
    return _over((centred[..., 1:] * centred[..., :-1]).sum(axis=-1), (centred**2).sum(axis=-1))


def _over(one: "Array", other: "Array") -> "Array":
    import numpy as np

    return np.divide(one, np.maximum(other, np.finfo(np.float64).tiny))


def _limit(statistic: "Statistic", number: int, chance: float) -> float:
    """Return the value that the statistic of normal data exceeds with this probability.

    From a seeded simulation of `number` values.
    """
    import numpy as np

    return float(np.quantile(_null(statistic, number), 1 - chance))


@functools.cache
def _null(statistic: "Statistic", number: int) -> "Array":
    import numpy as np

    return statistic(np.random.default_rng(0).standard_normal((_DRAWS, number)))
