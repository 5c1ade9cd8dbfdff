"""A comparison and a characterisation on the page: what their templates show."""

import math
import statistics
from collections.abc import Sequence
from itertools import groupby

from hearth.report.html.shown import Cell, View
from hearth.report.terminal.compare import COUNT_HEAD, count_rows, without_times
from hearth.studies.characterise.answers import CountedMeasure, StreamedRate, SweptCell
from hearth.studies.characterise.result import AnsweredQuestion, Characterised
from hearth.studies.compare.result import ArmCpu, Compared, ComparedArm, PairedRatio
from hearth.studies.engine.statistics import EQUAL_WITHIN


def comparison_view(comparison: Compared, section: str = "") -> View:
    """Return the verdict, intervals on one scale and the arms' times.

    Section: its id, if it has one.
    """
    return {
        "id": section,
        "name": "Comparison",
        "sentence": comparison.verdict.sentence,
        "why": comparison.verdict.why,
        "baseline": comparison.baseline,
        "warnings": [f"{warning.sentence}." for warning in comparison.warnings],
        "arms": [_row(arm) for arm in comparison.arms],
        "settings": [f"{arm.name}: {arm.setting}" for arm in comparison.arms if arm.setting],
        "cpu": [_cpu_row(arm.name, arm.cpu) for arm in comparison.arms if arm.cpu],
        "counted_head": COUNT_HEAD,
        "counted": count_rows(comparison.arms),
        "seconds": seconds_strip([(arm.name, arm.seconds) for arm in comparison.finished]),
        **_intervals(comparison),
    }


def _row(arm: ComparedArm) -> list[Cell]:
    if not arm.seconds:
        return [arm.name, 0, "-", "-", "-", "-", without_times(arm)]
    numbers = [arm.median, float(min(arm.seconds)), float(max(arm.seconds))]
    failed = "failed in some runs" if arm.failures else ""
    return [arm.name, len(arm.seconds), *numbers, _ratio(arm), failed]


def _cpu_row(name: str, cpu: ArmCpu) -> list[Cell]:
    return [name, cpu.median_s, cpu.user_s, cpu.system_s, _shown(cpu.ratio)]


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


def _ratio(arm: ComparedArm) -> str:
    return _shown(arm.ratio)


def _shown(ratio: PairedRatio | None) -> str:
    ends = ratio and ratio.interval
    shown = f"{ratio.value if ratio else 1:.3f}"
    return f"{shown} [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else shown


def _intervals(comparison: Compared) -> View:
    """Return places from 0 to 1 on a scale that holds all intervals, pairs and the equal band."""
    found = [(a, a.ratio, a.ratio.interval) for a in comparison.arms if a.ratio]
    arms = [(arm, ratio.value, ends) for arm, ratio, ends in found if ends is not None]
    if not arms:
        return {"intervals": []}
    times = {arm.name: arm.seconds for arm in comparison.arms}
    pairs = [_pairs(arm.seconds, times.get(comparison.baseline, [])) for arm, _, _ in arms]
    band = (1 - EQUAL_WITHIN, 1 + EQUAL_WITHIN)
    ends = [*band, *(end for _, _, interval in arms for end in interval)]
    ends += [point for points in pairs for point in points]
    margin = 0.04 * (max(ends) - min(ends))
    low, high = min(ends) - margin, max(ends) + margin

    def place(ratio: float) -> float:
        return float((ratio - low) / (high - low))

    rows = []
    for (arm, value, interval), points in zip(arms, pairs, strict=True):
        rows.append(
            {
                "name": arm.name,
                "kind": "good" if interval[1] < 1 else "bad" if interval[0] > 1 else "open",
                "low": place(interval[0]),
                "high": place(interval[1]),
                "middle": place(value),
                "points": [place(point) for point in points],
                "words": f"{arm.name}: {_ratio(arm)}",
            }
        )
    return {
        "intervals": rows,
        "one": place(1.0),
        "band": [place(end) for end in band],
        "ticks": [(place(tick), f"{tick:.2f}") for tick in ticks(low, high)],
    }


def _pairs(seconds: list[float], base: list[float]) -> list[float]:
    """Return the ratio of each pair of runs, where each run has its partner."""
    if len(seconds) != len(base):
        return []
    return [own / other for own, other in zip(seconds, base, strict=True) if other]


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


def questions_view(document: Characterised) -> list[tuple[str, list[View]]]:
    """Return the questions of each subject, as the template shows them."""
    several = len(document.subjects) > 1
    views = [
        (q.subject, _question(q, number, several)) for number, q in enumerate(document.questions)
    ]
    return [
        (subject, [view for _, view in group])
        for subject, group in groupby(views, key=lambda pair: pair[0])
    ]


def _question(question: AnsweredQuestion, number: int, several: bool) -> View:
    key = question.key
    view: View = {
        "id": f"question{number}",
        "link": f"{question.subject}: {key}" if several else key.capitalize(),
        "title": question.title,
        "source": question.source,
        "notes": question.notes,
        "reason": question.reason,
    }
    if question.reason is not None:
        return view
    comparison = question.comparison
    return {
        **view,
        "sentence": question.sentence,
        "why": question.why,
        "heat": _heat(question.cells) if question.cells else None,
        "streams": [_stream(stream) for stream in question.streams or []],
        "sides": [[s.measure, s.batch, s.streaming] for s in question.sides or []],
        **_counted(question.counted or []),
        "comparison": None if comparison is None else comparison_view(comparison),
        "timed": None if comparison is None else comparison.settings.timed,
    }


def _counted(rows: list[CountedMeasure]) -> View:
    ways = list(dict.fromkeys(way for row in rows for way in row.ways))
    cells = [[row.measure, *(row.ways.get(way, "-") for way in ways)] for row in rows]
    return {"counted": cells, "counted_ways": ["counted", *ways]}


def _stream(stream: StreamedRate) -> list[Cell]:
    delay = "-" if stream.delay_ms is None else stream.delay_ms
    return [
        stream.rate,
        stream.processing_ms,
        delay,
        stream.unsent,
        "yes" if stream.kept_up else "no",
    ]


def _heat(cells: list[SweptCell]) -> View:
    """Return executors down, cores of each across; tinted from the fastest to the slowest."""
    times = {(cell["executors"], cell["cores"]): cell for cell in cells}
    rows, columns = (sorted({key[i] for key in times}) for i in (0, 1))
    best = min(cell["seconds"] for cell in cells)
    worst = max(cell["seconds"] for cell in cells)

    def shown(cell: SweptCell | None) -> View | None:
        if cell is None:
            return None
        share = (cell["seconds"] - best) / ((worst - best) or 1)
        words = f"{cell['seconds']:.4g} s, {cell['class']}"
        return {"words": words, "tint": round(60 * share), "best": cell["seconds"] == best}

    return {
        "columns": [f"{cores} core{'s' if cores > 1 else ''}" for cores in columns],
        "rows": [
            {"name": row, "cells": [shown(times.get((row, column))) for column in columns]}
            for row in rows
        ],
        "fastest": f"{best:.4g} s",
        "slowest": f"{worst:.4g} s",
    }
