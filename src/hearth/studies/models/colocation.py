"""Predict how best to split a machine between applications that run at the same time; pure.

A share is a number of units of the machine: NUMA nodes, or cores where it has one node. What an
application loses on a share is its slowdown: the seconds that it takes alone on the share to those
that it takes alone on the whole machine. The throughput of a split, relative to running one
application after the other, follows from slowdowns alone. In T seconds application i ends
T / t_i(share) times, and alone each of these takes t_i(whole) seconds, so that the work done in T
would take, one after the other,

    throughput = sum over applications of t_i(whole) / t_i(share) = sum of 1 / slowdown_i

times T (the weighted speedup of Snavely and Tullsen 2000).

That is what remains where nobody disturbs the other: memory of another node, last-level caches of
another package. What applications share is not in it, and `Shared` says what is known of that.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hearth.base.errors import UserError
from hearth.studies.models.binding import NORMAL_90, PUBLISHED, BindingGain, change, cost

Objective = Literal["throughput", "slowdown", "fairness"]
#: More splits than this are no table that anybody reads.
MOST_SPLITS = 2000


@dataclass(frozen=True)
class Estimate:
    """A figure; low and high are the ends of its interval, None where nothing gives one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Curve:
    """An application's slowdown on a part of the machine.

    alone_s: seconds on the whole machine, where they are known. slowdown: by the number of units.
    """

    application: str
    slowdown: Mapping[int, Estimate]
    alone_s: float | None = None


@dataclass(frozen=True)
class Shared:
    """How applications may slow each other down through what a split does not divide.

    stretch: how many times as long memory at its limit may make them take, at most; None where it
    is not known. notes: what is not in the prediction, in words. used: of the bandwidth of the
    whole machine's memory the share that each application used, where a split divides the memory.
    """

    stretch: float | None = None
    notes: tuple[str, ...] = ()
    used: tuple[float, ...] | None = None

    def slowdown(self, at: int, curve: "Curve", units: int) -> Estimate:
        """Return what an application, by its place, may lose on its share.

        It moves as many bytes there, so it takes at least as long as the memory of its nodes needs
        for them. Of memory that all share it is not known how much time waits for it.
        """
        slow = curve.slowdown[units]
        if self.used is not None:
            least = self.used[at] * max(curve.slowdown) / units
            return _mapped(slow, lambda value: max(value, least))
        low, high = slow.ends or (slow.value, slow.value)
        more = self.stretch or 1
        return slow if more <= 1 else Estimate(slow.value, low, high * more)


@dataclass(frozen=True)
class Expected:
    """An application on its share. seconds: None where those of the whole machine are not known."""

    application: str
    units: int
    slowdown: Estimate
    seconds: Estimate | None


@dataclass(frozen=True)
class Split:
    """One way to divide the machine, and what is expected of it.

    throughput: work an hour, one after the other = 1. worst: the largest slowdown. fairness: the
    least relative speed to the largest, 1 where all lose the same.
    """

    units: tuple[int, ...]  #: parts of each application
    applications: tuple[Expected, ...]
    throughput: Estimate  #: work an hour, one after the other = 1
    worst: Estimate  #: the largest slowdown
    fairness: Estimate  #: the least slowdown to the largest

    @property
    def shown(self) -> str:
        """The split as people write it: 2-2."""
        return show_split(self.units)


def show_split(units: Sequence[int]) -> str:
    """Return a split as people write it."""
    return "-".join(map(str, units))


def candidates(wanted: str | None, parts: int, units: int) -> list[tuple[int, ...]]:
    """Return the splits to choose from: the one that is asked for, or all."""
    return splits(units, parts) if wanted is None else [parse_split(wanted, parts, units)]


def splits(units: int, parts: int) -> list[tuple[int, ...]]:
    """Return all ways to give each of so many applications at least one unit, and all units away.

    Raises UserError where there is none, or where there are too many.
    """
    if parts > units:
        raise UserError(
            f"{parts} applications on {units} parts of the machine: give each at least one, or run "
            "fewer at a time"
        )
    if math.comb(units - 1, parts - 1) > MOST_SPLITS:
        raise UserError(
            f"{parts} applications on {units} units have {math.comb(units - 1, parts - 1)} splits, "
            f"more than {MOST_SPLITS}: name one with --split"
        )
    return list(_splits(units, parts))


def _splits(units: int, parts: int) -> Iterator[tuple[int, ...]]:
    for cuts in itertools.combinations(range(1, units), parts - 1):
        ends = (0, *cuts, units)
        yield tuple(b - a for a, b in itertools.pairwise(ends))


def parse_split(text: str, parts: int, units: int) -> tuple[int, ...]:
    """Parse a split such as `2-2`; raise UserError if it does not fit machine and applications."""
    words = text.split("-")
    shares = tuple(int(word) for word in words if word.isascii() and word.isdigit())
    if len(shares) != len(words) or len(shares) != parts:
        example = "-".join(["1"] * parts)
        raise UserError(
            f"--split: '{text}' is not a share for each of {parts} applications: give such as "
            f"{example}"
        )
    if min(shares) < 1 or sum(shares) > units:
        raise UserError(
            f"--split: '{text}' gives {sum(shares)} of {units} units, and each application needs "
            "one at least: give others"
        )
    return shares


def predict(
    curves: Sequence[Curve], ways: Sequence[tuple[int, ...]], shared: Shared | None = None
) -> list[Split]:
    """Predict each of these splits, except those with a share that no curve has."""
    known = [way for way in ways if all(n in c.slowdown for c, n in zip(curves, way, strict=True))]
    return [_expected(curves, way, shared or Shared()) for way in known]


def _expected(curves: Sequence[Curve], way: tuple[int, ...], shared: Shared) -> Split:
    each = tuple(
        _application(curve, units, shared.slowdown(at, curve, units))
        for at, (curve, units) in enumerate(zip(curves, way, strict=True))
    )
    return Split(way, each, *judged([one.slowdown for one in each]))


def unbound(split: Split, nodes: int) -> Split:
    """Return the same applications in the configuration of their shares, left to the kernel.

    Each has as many task slots as on its share, and loses what local memory is worth on so many
    nodes: the published gain of binding, which stands for any workload and is as uncertain.
    """
    longer, deviation = change(
        cost("node", (nodes,)), cost("none", (nodes,)), BindingGain.of(list(PUBLISHED.values()))
    )

    def slower(one: Estimate) -> Estimate:
        low, high = one.ends or (one.value, one.value)
        reach = NORMAL_90 * deviation
        least, most = low * math.exp(longer - reach), high * math.exp(longer + reach)
        return Estimate(one.value * math.exp(longer), least, most)

    each = tuple(
        replace(one, slowdown=slower(one.slowdown), seconds=one.seconds and slower(one.seconds))
        for one in split.applications
    )
    return Split(split.units, each, *judged([one.slowdown for one in each]))


def _application(curve: Curve, units: int, slow: Estimate) -> Expected:
    alone = curve.alone_s
    seconds = None if alone is None else _mapped(slow, lambda value: value * alone)
    return Expected(curve.application, units, slow, seconds)


def _mapped(one: Estimate, by: Callable[[float], float]) -> Estimate:
    """Apply an increasing function to an estimate and its ends."""
    return Estimate(by(one.value), *(map(by, one.ends) if one.ends else ()))


def judged(slowdowns: Sequence[Estimate]) -> tuple[Estimate, Estimate, Estimate]:
    """Return throughput, worst slowdown and fairness.

    Their intervals hold where those of all slowdowns do: the ends are taken together. There is none
    where a slowdown has none.
    """
    values = [one.value for one in slowdowns]
    ends = [one.ends for one in slowdowns if one.ends is not None]
    if len(ends) < len(slowdowns):
        return Estimate(throughput(values)), Estimate(max(values)), Estimate(fairness(values))
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    return (
        Estimate(throughput(values), throughput(highs), throughput(lows)),
        Estimate(max(values), max(lows), max(highs)),
        Estimate(fairness(values), *_fairness_ends(lows, highs)),
    )


def throughput(slowdowns: Sequence[float]) -> float:
    """Return work an hour, one after the other = 1."""
    return sum(1 / one for one in slowdowns)


def fairness(slowdowns: Sequence[float]) -> float:
    """Return the least slowdown to the largest."""
    return min(slowdowns) / max(slowdowns)


def _fairness_ends(lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """Return the least and the largest fairness of slowdowns within these ends."""
    pairs = list(itertools.permutations(range(len(lows)), 2))
    least = min((lows[a] / highs[b] for a, b in pairs), default=1.0)
    # All the same where the intervals have a point in common.
    return min(least, 1.0), min(1.0, min(highs) / max(lows))


def ranked(predicted: Sequence[Split], objective: Objective) -> list[Split]:
    """Return the best first; of equals the one that loses least, then the more even one."""
    return sorted(predicted, key=lambda one: (_cost(one, objective), one.worst.value, one.units))


def _cost(split: Split, objective: Objective) -> float:
    if objective == "throughput":
        return -split.throughput.value
    return split.worst.value if objective == "slowdown" else -split.fairness.value
