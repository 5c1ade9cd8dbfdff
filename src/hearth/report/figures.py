"""The figures that several documents share, as places from 0 to 1 that the templates draw."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.report.blocks import View


@dataclass(frozen=True)
class Interval:
    """A row of a figure: a ratio with the ends of its interval, if it has one.

    kind: what colours it. words: shown beside it. points: single pairs of runs.
    """

    name: str
    kind: str
    value: float
    ends: tuple[float, float] | None
    words: str
    points: Sequence[float] = ()


def intervals(shown: Sequence[Interval], band: tuple[float, float] | None = None) -> View:
    """Return the rows on a scale that holds 1, all intervals and points, and a band, if any."""
    ends = [1.0, *(band or ())]
    ends += [end for one in shown for end in (*(one.ends or (one.value,)), *one.points)]
    margin = 0.04 * ((max(ends) - min(ends)) or 1)
    low, high = min(ends) - margin, max(ends) + margin

    def position(value: float) -> float:
        return float((value - low) / (high - low))

    def row(one: Interval) -> View:
        start, end = one.ends or (one.value, one.value)
        return {"name": one.name, "kind": one.kind, "words": one.words, "low": position(start),
                "high": position(end), "middle": position(one.value), "cut": "",
                "points": [position(point) for point in one.points]}  # fmt: skip

    return {
        "intervals": [row(one) for one in shown],
        "one": position(1.0),
        "band": None if band is None else [position(end) for end in band],
        "ticks": [(position(tick), f"{tick:.2f}") for tick in ticks(low, high)],
    }


def heat(cells: Mapping[tuple[int, int], tuple[float, str]], best: tuple[int, int] | None) -> View:
    """Return executors down, cores of each across, tinted from the least value to the largest.

    cells: the value and the words of each executors x cores. best: the one to frame.
    """
    rows, columns = (sorted({key[at] for key in cells}) for at in (0, 1))
    low, high = (end(value for value, _ in cells.values()) for end in (min, max))

    def cell(at: tuple[int, int]) -> View | None:
        if at not in cells:
            return None
        value, words = cells[at]
        tint = round(60 * (value - low) / ((high - low) or 1))
        return {"words": words, "tint": tint, "best": at == best}

    return {
        "columns": [f"{cores} core{'s' if cores > 1 else ''}" for cores in columns],
        "rows": [{"name": n, "cells": [cell((n, cores)) for cores in columns]} for n in rows],
    }


def seconds_strip(arms: Sequence[tuple[str, list[float]]]) -> View | None:
    """Return the runs of each arm on one scale of seconds that begins at zero."""
    if not arms:
        return None
    most = 1.04 * max(max(seconds) for _, seconds in arms)
    rows = [
        {
            "name": name,
            "points": [point / most for point in seconds],
            "middle": (median := statistics.median(seconds)) / most,
            "words": f"{name}: median {median:.2f} s of {len(seconds)}",
        }
        for name, seconds in arms
    ]
    return {"rows": rows, "ticks": [(tick / most, f"{tick:.4g} s") for tick in steps(most)]}


def ticks(low: float, high: float) -> list[float]:
    """Return 1.00 and round values beside it, at most seven."""
    sizes = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
    step = next((s for s in sizes if (high - low) / s <= 7), (high - low) / 2)
    below, above = int((1 - low) / step), int((high - 1) / step)
    return [1 + step * number for number in range(-below, above + 1)]


def steps(most: float) -> list[float]:
    """Return zero and round values up to the most, about five."""
    power = 10.0 ** math.floor(math.log10(most / 5))
    step = next(power * size for size in (1, 2, 5, 10) if most / (power * size) <= 6)
    return [step * number for number in range(int(most / step) + 1)]
