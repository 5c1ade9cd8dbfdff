"""The table of `hearth lab bench`: each job under each master, and how reliable that is."""

import statistics
from collections.abc import Sequence

from hearth.report.terminal.compare import interval, spread
from hearth.report.terminal.screen import Screen, table
from hearth.studies.bench.result import BenchResult
from hearth.studies.compare.result import ComparedArm
from hearth.studies.engine.statistics import FEWEST_PAIRS
from hearth.studies.engine.trial import Trial
from hearth.workloads.shapes import CaseResult

#: Gives an interval of about 5 % to either side where runs scatter by 5 %.
REPEAT = 10
HEAD = ("job", "master", "seconds", "min-max", "ratio", "95 %", "answer")
STREAM_HEAD = ("stream", "master", "events", "unsent", "batch", "p95", "delay", "kept-up")


def show_series(found: BenchResult, screen: Screen) -> list[str]:
    """Return the table, a row for each job and master, warnings, and a note on how to read it."""
    lines = table(screen, HEAD, rows(found), right="seconds min-max ratio")
    streams = stream_rows(found)
    if streams:
        lines += ["", *table(screen, STREAM_HEAD, streams, right="events unsent batch p95 delay")]
    texts = [f"warning: {warning}" for warning in warnings(found)]
    lines += ["", *(screen.paragraph(text, "  ", "    ") for text in texts)] if texts else []
    return [*lines, "", screen.paragraph(note(found), indent="  ")]


def warnings(found: BenchResult) -> list[str]:
    """Return reasons to doubt the times of a job."""
    return [f"{job.application}: {one.sentence}." for job in found.jobs for one in job.warnings]


def rows(found: BenchResult) -> list[list[str]]:
    """Return a row for each job under each master, as HEAD names its cells."""
    return [
        _row(job.application, arm, found.cases_of(job.application, arm.name))
        for job in found.jobs
        for arm in job.arms
    ]


def _row(job: str, arm: ComparedArm, cases: Sequence[Trial]) -> list[str]:
    if not arm.seconds:
        return [job, arm.name, "-", "-", "-", "-", without_times(arm)]
    results = _measured(cases)
    seconds = spread(arm) if len(arm.seconds) > 1 else "one run"
    ratio = f"{arm.ratio.value:.2f}" if arm.ratio else "-"
    return [job, _master(arm.name, results), f"{arm.median:.2f}", seconds, ratio,
            interval(arm) or "-", _answer(results, arm.failures or ())]  # fmt: skip


def without_times(arm: ComparedArm) -> str:
    """Return why a job has no time under a master."""
    return f"failed: {arm.failures[-1]}" if arm.failures else "not run"


def _measured(cases: Sequence[Trial]) -> list[CaseResult]:
    return [one.result for one in cases if one.counted_s is not None and one.result is not None]


def _master(requested: str, results: Sequence[CaseResult]) -> str:
    """Return the requested master, with the one that the plan chose: `local-numa (local[2])`."""
    became = ", ".join(sorted({result["spark"]["master"] for result in results}))
    planned = requested.startswith("local-numa") and became != requested
    return f"{requested} ({became})" if planned else requested


def _answer(results: Sequence[CaseResult], failures: Sequence[str]) -> str:
    """Return the verdict that matters most: one wrong answer is not outvoted by right ones."""
    order = ("wrong", "unchecked", "checked")
    verdicts = [result["verdict"] for result in results]
    worst = min(verdicts, key=lambda one: order.index(one["status"]), default=None)
    text = ""
    if worst is not None:
        checked = worst["status"] == "checked"
        text = worst["status"] if checked else f"{worst['status']}: {worst['detail']}"
    return f"{text}; {len(failures)} failed: {failures[-1]}" if failures else text


def stream_rows(found: BenchResult) -> list[list[str]]:
    """List streaming jobs: events of the shortest run, milliseconds of a batch and of its delay."""
    shown = []
    for job in found.jobs:
        for arm in job.arms:
            results = _measured(found.cases_of(job.application, arm.name))
            streams = [result["streaming"] for result in results if "streaming" in result]
            if streams:
                times = [
                    one["processing_ms"] for one in streams if "median" in one["processing_ms"]
                ]
                delays = [one["scheduling_delay_ms"] for one in streams]
                shown.append([
                    job.application,
                    arm.name,
                    f"{min(one['events_processed'] for one in streams):,}",
                    f"{sum(one['unsent'] for one in streams):,}",
                    _ms(statistics.median(t["median"] for t in times) if times else None),
                    _ms(max((t["p95"] for t in times), default=None)),
                    _ms(max((delay["max"] for delay in delays if "max" in delay), default=None)),
                    "yes" if all(one["kept_up"] for one in streams) else "no",
                ])  # fmt: skip
    return shown


def _ms(time: float | None) -> str:
    return "none" if time is None else f"{time:.0f} ms"


def note(found: BenchResult) -> str:
    """Return how the table is read."""
    repeat, warmup = found.series.settings.repeat, found.series.settings.warmup
    warm = f"{warmup} warm-up run{'s' * (warmup != 1)} of each dropped" if warmup else "no warm-up"
    text = f"seconds: median of {repeat} run{'s' * (repeat != 1)} of each, {warm}"
    has_ratio = any(arm.ratio for job in found.jobs for arm in job.arms)
    if has_ratio:
        first = found.series.masters[0]
        text += f"; ratio to {first}: centre of the paired ratios, below 1 is faster"
    if repeat < FEWEST_PAIRS:
        text += f"; too few runs to show the spread: use --repeat {REPEAT}"
    elif has_ratio:
        text += (
            "; 95 %: of the paired repetitions' ratios, for all masters of a job together; of "
            "jobs without a difference, one in 20 shows one by chance"
        )
    return f"{text}."
