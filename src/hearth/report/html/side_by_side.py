"""Several runs beside each other: their totals, and where the difference went."""

from collections import Counter
from collections.abc import Sequence

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.report.blocks import Cell, View
from hearth.report.html.run import label, mean_local
from hearth.report.html.shown import part, share
from hearth.report.html.threads import moves
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
            share(part(run.totals, lambda totals: totals.idle_slot_share)),
            share(mean_local(run.executors)),
            "-" if isinstance(run.threads, Absent) else moves(run.threads),
        ]
        for run in runs
    ]


def differences(runs: Sequence[Analysis]) -> list[View]:
    """Return each run against the first: seconds more or less, by part of the run and by stage."""
    return [_difference(runs[0], run) for run in runs[1:]]


def _difference(base: Analysis, run: Analysis) -> View:
    parts, stages = (_changes(of(base), of(run)) for of in (_by_part, _by_stage))
    shown = sorted(stages, key=lambda each: -abs(each[2]))[:_MOST_STAGES]
    cut = f"; the {len(shown)} of {len(stages)} that differ most" * (len(stages) > len(shown))
    whole = sum(change for _, _, change in parts)
    figures = {
        f"Wall time: the parts add up to the difference of these two runs, {whole:+.2f} s": parts,
        "Task time of each stage, over all its tasks, of which several run at a time; stages are "
        f"aligned by name and order{cut}": shown,
    }
    most = max((abs(change) for _, _, change in [*parts, *shown]), default=0) or 1
    return {"name": label(run), "base": label(base), "most": most, "figures": figures}


def _changes(base: dict[str, float], run: dict[str, float]) -> list[tuple[str, float, float]]:
    """Return what it is, seconds before and the change; nothing where one of them is not known."""
    names = {**base, **run} if base and run else {}
    return [(name, base.get(name, 0.0), run.get(name, 0.0) - base.get(name, 0.0)) for name in names]


def _by_part(run: Analysis) -> dict[str, float]:
    return {} if isinstance(run.phases, Absent) else parts_of(run.phases, run.record.state)


def _by_stage(run: Analysis) -> dict[str, float]:
    """Return seconds of task time by the stage's name and its place among those of that name."""
    numbers: Counter[str] = Counter()
    times = {}
    for stage in [] if isinstance(run.stages, Absent) else run.stages:
        name = stage.label or stage.name or f"stage {stage.id}"
        numbers[name] += 1
        times[name + f" ({numbers[name]})" * (numbers[name] > 1)] = stage.time.duration / 1000
    return times
