"""Classify why a configuration of a sweep loses (Baig), by its measures and the best one's.

Baig 2018 puts each losing configuration into one class. Which one comes first if several apply is
our choice: what leaves the machine idle, before what makes it work badly.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hearth.studies.engine.trial import Measures

#: A configuration this near to the best time does not lose (Baig 2018).
NEAR_BEST = 1.10
#: A measure stands out when it is this far from the best configuration's: Baig 2018 names no
#: number.
STANDS_OUT = 0.20
BEST, NEAR, UNEXPLAINED = "best", "within 10 % of best", "unexplained"


@dataclass(frozen=True)
class _Class:
    """needs: the measures that must be known for it; holds: of (loser / best) of each."""

    name: str
    needs: tuple[str, ...]
    holds: Callable[[dict[str, float]], bool]


_CLASSES = (
    _Class("low CPU use", ("cpu_use",), lambda ratio: ratio["cpu_use"] < 1 - STANDS_OUT),
    _Class(
        "high CPI and context switches",
        ("cpi", "switches"),
        lambda r: r["cpi"] > 1 + STANDS_OUT and r["switches"] > 1 + STANDS_OUT,
    ),
    _Class("high L3 misses", ("l3_misses",), lambda ratio: ratio["l3_misses"] > 1 + STANDS_OUT),
    _Class(
        "low memory bandwidth",
        ("bandwidth_gb_s",),
        lambda ratio: ratio["bandwidth_gb_s"] < 1 - STANDS_OUT,
    ),
)


def loss_class(seconds: float, measures: Measures, best_s: float, best: Measures) -> str:
    """Return the class of a configuration; `unchecked_classes` says which could not be checked.

    measures, best: of the comparison's measures, each a number or `{"absent": reason}`.
    """
    if seconds <= best_s:
        return BEST
    if seconds <= best_s * NEAR_BEST:
        return NEAR
    ratios = _ratios(measures, best)
    for kind in _CLASSES:
        if all(need in ratios for need in kind.needs) and kind.holds(ratios):
            return kind.name
    return UNEXPLAINED


def unchecked_classes(best: Measures) -> list[str]:
    """Return the classes that cannot be checked: a measure of the best configuration is absent."""
    known = _with_switches(best)
    return [kind.name for kind in _CLASSES if not all(known.get(need) for need in kind.needs)]


def _ratios(measures: Measures, best: Measures) -> dict[str, float]:
    mine, theirs = _with_switches(measures), _with_switches(best)
    return {name: mine[name] / theirs[name] for name in mine if theirs.get(name)}


def _with_switches(measures: Measures) -> dict[str, float]:
    """Return the known ones, and context switches of both kinds per second of CPU."""
    known = {k: float(v) for k, v in measures.items() if isinstance(v, int | float)}
    if {"voluntary", "involuntary", "cpu_s"} <= known.keys() and known["cpu_s"]:
        known["switches"] = (known["voluntary"] + known["involuntary"]) / known["cpu_s"]
    return known
