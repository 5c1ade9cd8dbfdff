"""Read raw results and print them as the tables of benchmarks/README.md.

    .venv/bin/python benchmarks/results.py benchmarks/results/startup-2026-11-25-0248.jsonl

Each benchmark has a function `page`, which makes its tables from the lines of its raw results; this
prints those of results that were kept. Several files of one benchmark are read as one.
tests/test_figures.py holds every published figure against these functions.
"""

import importlib
import json
import math
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import special

from hearth import Ratio, paired_ratio

FOLDER = Path(__file__).resolve().parent / "results"
#: Of results whose name is not that of their benchmark.
MODULES = {
    "duet-control": "duet",
    "second-compiler": "jvm_flags",
    "young-generation": "jvm_flags",
}
Row = dict[str, Any]


def read(*names: str | Path) -> list[Row]:
    """Read raw results (a path, or a name without `.jsonl`); each line says its `series`."""
    rows: list[Row] = []
    for name in names:
        file = name if isinstance(name, Path) else FOLDER / f"{name}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines():
            rows.append({**json.loads(line), "series": file.stem})
    return rows


def pages(files: Sequence[str | Path]) -> list[str]:
    """Return the tables of these results, by their benchmark."""
    kind = re.sub(r"-\d{4}-.*", "", Path(files[0]).stem)
    module = importlib.import_module(MODULES.get(kind, kind.replace("-", "_")))
    found: list[str] = module.page(read(*files))
    return found


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    rows = [list(heads), ["---"] * len(heads), *map(list, lines)]
    return [f"|{'|'.join(row)}|" if row[0] == "---" else f"| {' | '.join(row)} |" for row in rows]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median (smallest to largest)."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def shown(ratio: Ratio | None, digits: int = 2) -> str:
    """Return a ratio with its interval, where there is one."""
    if ratio is None:
        return "-"
    if ratio.interval is None:
        return f"{ratio.value:.{digits}f}"
    low, high = ratio.interval
    return f"{ratio.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def overall(ratios: Iterable[float]) -> Ratio:
    """Return the middle of independent ratios, each of a job or of a start, and its 95 % interval.

    Up to eight: geometric mean, Student's t. From nine: the estimate of Hodges and Lehmann, signed
    ranks. Below three there is no interval.
    """
    values = list(ratios)
    return paired_ratio(values, [1.0] * len(values))


def over_starts(pairs: Iterable[tuple[int, float, float]]) -> Ratio:
    """Return the ratio of values measured in pairs: start of the processes, value, baseline's.

    A start is one sample, however often it was measured: processes differ from start to start by
    more than repetitions within one do. The middle of a start counts once.
    """
    starts: dict[int, tuple[list[float], list[float]]] = {}
    for start, mine, base in pairs:
        sides = starts.setdefault(start, ([], []))
        sides[0].append(mine)
        sides[1].append(base)
    return overall(paired_ratio(*sides).value for sides in starts.values())


def loads(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the range of the load averages."""
    values = [row["load"] for row in rows if "load" in row]
    return f"{min(values):.1f} to {max(values):.1f}"


#: Fewest pairs for an interval, and its confidence.
_FEWEST_PAIRS, _CONFIDENCE = 3, 0.95


def ratio_of_totals(values: Sequence[float], base: Sequence[float]) -> Ratio:
    """Return the ratio of two sums over pairs, in which long pairs weigh more than short ones.

    The interval is Student's t on what each pair adds beyond the ratio (Cochran 1977, chapter 6).
    """
    value = sum(values) / sum(base)
    if len(base) < _FEWEST_PAIRS:
        return Ratio(value, None)
    beyond = [mine - value * theirs for mine, theirs in zip(values, base, strict=True)]
    error = math.sqrt(sum(b * b for b in beyond) / (len(base) - 1) / len(base))
    quantile = float(special.stdtrit(len(base) - 1, (1 + _CONFIDENCE) / 2))
    half = quantile * error / statistics.fmean(base)
    return Ratio(value, (value - half, value + half))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print("\n".join(pages([Path(word) for word in sys.argv[1:]])))
