"""Read raw results and compute what the pages show of them: medians, ratios of pairs, tables."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import special

from hearth import Ratio, paired_ratio
from hearth.studies.engine.statistics import CONFIDENCE, FEWEST_PAIRS

FOLDER = Path(__file__).resolve().parent / "results"
Row = dict[str, Any]


def read(*names: str | Path) -> list[Row]:
    """Read raw results (a path, or a name without `.jsonl`); each line says its `series`."""
    rows: list[Row] = []
    for name in names:
        file = name if isinstance(name, Path) else FOLDER / f"{name}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines():
            rows.append({**json.loads(line), "series": file.stem})
    return rows


def runs(rows: Iterable[Row]) -> list[Row]:
    """Return the runs that count: neither the first line nor a warm-up nor a failure."""
    return [
        row
        for row in rows
        if "arm" in row and "failure" not in row and row.get("repetition", 0) >= 0
    ]


def first_runs(rows: Iterable[Row]) -> list[Row]:
    """Return the warm-ups, as runs that count."""
    return [{**row, "repetition": 0} for row in rows if row.get("repetition", 0) < 0]


def all_runs(rows: Iterable[Row]) -> list[Row]:
    """Return the warm-ups too, as runs that count."""
    return [{**row, "repetition": row["repetition"] + 1} for row in rows if "repetition" in row]


def whole(rows: Sequence[Row]) -> list[Row]:
    """Return the runs of the repetitions in which every arm was measured."""
    counted = runs(rows)
    arms = {row["arm"] for row in counted}
    arms_of: dict[tuple[Any, ...], set[str]] = {}
    for row in counted:
        arms_of.setdefault(_place(row), set()).add(row["arm"])
    return [row for row in counted if arms_of[_place(row)] == arms]


def _place(row: Row) -> tuple[Any, ...]:
    """Return what the two sides of a pair have in common."""
    return (row.get("series"), row.get("start"), row.get("case"), row.get("repetition"))


def names(rows: Iterable[Row], key: str) -> list[str]:
    """Return what the rows have as `arm` or `case`, in the order in which they first have it."""
    return list(dict.fromkeys(row[key] for row in rows if key in row))


def of_case(rows: Iterable[Row], case: str) -> list[Row]:
    return [row for row in rows if row.get("case") == case]


def values(rows: Iterable[Row], arm: str, what: str) -> list[float]:
    """Return what an arm's runs have of a measure."""
    return [row[what] for row in runs(rows) if row["arm"] == arm and what in row]


def pairs(rows: Iterable[Row], arm: str, base: str, what: str) -> list[tuple[Row, float]]:
    """Return each run of an arm that has its pair, and its ratio to that."""
    counted = [row for row in runs(rows) if what in row]
    bases = {_place(row): row[what] for row in counted if row["arm"] == base}
    mine = [row for row in counted if row["arm"] == arm and _place(row) in bases]
    return [(row, row[what] / bases[_place(row)]) for row in mine]


def ratio(
    rows: Iterable[Row],
    arm: str,
    base: str,
    what: str,
    over: str = "",
    confidence: float = CONFIDENCE,
) -> Ratio | None:
    """Return the middle of an arm's paired ratios to a baseline; None without a pair.

    over: `case` or `start`, of which the middle of each counts once: what differs from one start of
    a process, or one job, to the next is one sample, however often it was measured.
    """
    paired = pairs(rows, arm, base, what)
    if not paired:
        return None
    if not over:
        return overall((value for _, value in paired), confidence)
    groups: dict[Any, list[float]] = {}
    for row, value in paired:
        groups.setdefault((row.get("series") if over == "start" else "", row[over]), []).append(
            value
        )
    return overall((overall(each).value for each in groups.values()), confidence)


def overall(ratios: Iterable[float], confidence: float = CONFIDENCE) -> Ratio:
    """Return the middle of independent ratios and its interval.

    Up to eight: geometric mean, Student's t. From nine: the estimate of Hodges and Lehmann, signed
    ranks. Below three there is no interval.
    """
    each = list(ratios)
    return paired_ratio(each, [1.0] * len(each), confidence)


def ratio_of_totals(mine: Sequence[float], base: Sequence[float]) -> Ratio:
    """Return the ratio of two sums over pairs, in which long pairs weigh more than short ones.

    The interval is Student's t on what each pair adds beyond the ratio (Cochran 1977, chapter 6).
    """
    value = sum(mine) / sum(base)
    if len(base) < FEWEST_PAIRS:
        return Ratio(value, None)
    beyond = [one - value * other for one, other in zip(mine, base, strict=True)]
    error = math.sqrt(sum(b * b for b in beyond) / (len(base) - 1) / len(base))
    quantile = float(special.stdtrit(len(base) - 1, (1 + CONFIDENCE) / 2))
    half = quantile * error / statistics.fmean(base)
    return Ratio(value, (value - half, value + half))


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    rows = [list(heads), ["---"] * len(heads), *map(list, lines)]
    return [f"|{'|'.join(row)}|" if row[0] == "---" else f"| {' | '.join(row)} |" for row in rows]


def spread(measured: Sequence[float], digits: int = 2) -> str:
    """Median (smallest to largest)."""
    if not measured:
        return "-"
    middle, low, high = statistics.median(measured), min(measured), max(measured)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def shown(one: Ratio | None, digits: int = 2) -> str:
    """Return a ratio with its interval, where there is one."""
    if one is None:
        return "-"
    if one.interval is None:
        return f"{one.value:.{digits}f}"
    low, high = one.interval
    return f"{one.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def arm_table(
    rows: Sequence[Row],
    base: str,
    measures: Mapping[str, str],
    over: str = "",
    digits: int = 2,
    no_ratio: Sequence[str] = (),
) -> list[str]:
    """Return for each case and arm the median with its range, and the ratio to the baseline.

    measures: the key of each, and what it is called. no_ratio: keys of those that have none.
    """
    cases = names(rows, "case")
    lines = []
    for case in cases or [""]:
        some = of_case(rows, case) if cases else rows
        arms = names(some, "arm")
        for arm in sorted(arms, key=lambda arm: (arm != base, arms.index(arm))):
            cells = [case] if cases else []
            cells += [f"`{arm}`", str(len(runs(row for row in some if row["arm"] == arm)))]
            for what in measures:
                cells.append(spread(values(some, arm, what), digits))
                if what not in no_ratio:
                    cells.append("1" if arm == base else shown(ratio(some, arm, base, what, over)))
            lines.append(cells)
    heads = ["Case", "Arm", "Runs"] if cases else ["Arm", "Runs"]
    for what, title in measures.items():
        heads += [title] if what in no_ratio else [title, f"to `{base}`"]
    return table(heads, lines)


def question_table(
    rows: Sequence[Row],
    questions: Iterable[tuple[str, str]],
    measures: Mapping[str, str],
    over: str = "",
) -> list[str]:
    """Return for each arm and its baseline the ratio of each measure; what has no pair is left."""
    lines = []
    for arm, base in questions:
        ratios = [ratio(rows, arm, base, what, over) for what in measures]
        if any(ratios):
            number = len(pairs(rows, arm, base, next(iter(measures))))
            lines.append([f"`{arm}`", f"`{base}`", str(number), *map(shown, ratios)])
    return table(["Arm", "Baseline", "Pairs", *measures.values()], lines)


def loads(rows: Iterable[Row]) -> str:
    """Return the range of the load averages at the start of the runs; empty where none is kept."""
    averages = [row["load"] for row in rows if isinstance(row.get("load"), float)]
    return f"load average {min(averages):.1f} to {max(averages):.1f}" if averages else ""
