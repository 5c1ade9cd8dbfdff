"""Several runs beside each other: their totals, and where the difference went, by stage."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.report.blocks import Cell
from hearth.report.html.run import idle, label, mean_local
from hearth.report.html.shown import part, share

#: Stages shown of a difference: those that differ most.
_MOST_STAGES = 20


def side_by_side(runs: Sequence[Analysis]) -> list[list[Cell]]:
    """Return a row for each run."""
    return [
        [
            label(run),
            float(run.record.wall_s),
            share(part(run.totals, lambda totals: totals.time.gc_share)),
            share(idle(run.totals)),
            share(mean_local(run.executors)),
            "-" if isinstance(run.threads, Absent) else sum(run.threads.node_transitions.values()),
        ]
        for run in runs
    ]


def differences(runs: Sequence[Analysis]) -> list[dict[str, Any]]:
    """Return each run against the first, by stage: seconds of task time more or less."""
    return [view for run in runs[1:] if (view := _difference(runs[0], run)) is not None]


def _difference(base: Analysis, run: Analysis) -> dict[str, Any] | None:
    times, base_times = _by_stage(run), _by_stage(base)
    changes = {
        key: times.get(key, 0.0) - base_times.get(key, 0.0) for key in {**base_times, **times}
    }
    if not changes or not times or not base_times:
        return None
    shown = sorted(changes, key=lambda key: -abs(changes[key]))[:_MOST_STAGES]
    most = max(abs(changes[key]) for key in shown) or 1.0
    rows = []
    for key in shown:
        before, change = base_times.get(key, 0.0), changes[key]
        name = key[0] + (f" ({key[1] + 1})" if key[1] else "")
        width = abs(change) / most / 2
        rows.append(
            {
                "name": name,
                "seconds": change,
                "left": 0.5 - width if change < 0 else 0.5,
                "width": width,
                "shown": f"{change:+.2f} s",
                "words": f"{name}: {before:.2f} s, then {before + change:.2f} s",
            }
        )
    cut = (
        f"; the {len(rows)} of {len(changes)} that differ most" if len(changes) > len(rows) else ""
    )
    return {"name": label(run), "base": label(base), "rows": rows, "cut": cut}


def _by_stage(run: Analysis) -> dict[tuple[str, int], float]:
    """Return seconds of task time by the stage's name and its place among those of that name."""
    numbers: Counter[str] = Counter()
    times = {}
    for stage in [] if isinstance(run.stages, Absent) else run.stages:
        name = stage.label or stage.name or f"stage {stage.id}"
        times[name, numbers[name]] = stage.time.run / 1000
        numbers[name] += 1
    return times
