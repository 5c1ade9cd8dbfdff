"""Several runs beside each other: their totals, and where the difference went."""

from collections import Counter
from collections.abc import Sequence

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.report.blocks import Cell, View
from hearth.report.html.run import idle, label, mean_local
from hearth.report.html.shown import part, share
from hearth.report.terminal.profile import parts_of

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


def differences(runs: Sequence[Analysis]) -> list[View]:
    """Return each run against the first: seconds more or less, by part of the run and by stage."""
    return [view for run in runs[1:] if (view := _difference(runs[0], run))["figures"]]


def _difference(base: Analysis, run: Analysis) -> View:
    parts = _changes(_by_part(base), _by_part(run))
    stages = _changes(_by_stage(base), _by_stage(run))
    shown = dict(sorted(stages.items(), key=lambda each: -abs(each[1][1]))[:_MOST_STAGES])
    cut = (
        f"; the {len(shown)} of {len(stages)} that differ most" if len(stages) > len(shown) else ""
    )
    most = max((abs(change) for _, change in [*parts.values(), *shown.values()]), default=0) or 1
    whole = sum(change for _, change in parts.values())
    figures = (
        (f"Wall time: the parts add up to the difference of the runs, {whole:+.2f} s", parts),
        ("Task time of each stage, over all its tasks, of which several run at a time; stages are "
         f"aligned by name and order{cut}", shown),
    )  # fmt: skip
    drawn = [
        {"caption": caption, "rows": [_row(name, *of, most) for name, of in changes.items()]}
        for caption, changes in figures
        if changes
    ]
    return {"name": label(run), "base": label(base), "figures": drawn}


def _row(name: str, before: float, change: float, most: float) -> View:
    """Return a bar from the middle, on the scale of all bars of two runs."""
    width = abs(change) / most / 2
    return {
        "name": name,
        "seconds": change,
        "left": 0.5 - width if change < 0 else 0.5,
        "width": width,
        "shown": f"{change:+.2f} s",
        "words": f"{name}: {before:.2f} s, then {before + change:.2f} s",
    }


def _changes(base: dict[str, float], run: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Return seconds before and the change; nothing where nothing is known of one of them."""
    names = {**base, **run} if base and run else {}
    return {name: (base.get(name, 0.0), run.get(name, 0.0) - base.get(name, 0.0)) for name in names}


def _by_part(run: Analysis) -> dict[str, float]:
    return {} if isinstance(run.phases, Absent) else parts_of(run.phases, run.record.state)


def _by_stage(run: Analysis) -> dict[str, float]:
    """Return seconds of task time by the stage's name and its place among those of that name."""
    numbers: Counter[str] = Counter()
    times = {}
    for stage in [] if isinstance(run.stages, Absent) else run.stages:
        name = stage.label or stage.name or f"stage {stage.id}"
        numbers[name] += 1
        many = f" ({numbers[name]})" if numbers[name] > 1 else ""
        times[name + many] = stage.time.run / 1000
    return times
