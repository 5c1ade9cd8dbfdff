"""A series of `hearth lab bench`: each job under each master, and how reliable that is."""

import statistics
from collections.abc import Sequence

from hearth.base.sizes import counted
from hearth.report.blocks import Block, Figure, Heading, Table, Texts
from hearth.report.comparison import ends, spread
from hearth.report.figures import seconds_strip
from hearth.studies.bench.result import BenchResult
from hearth.studies.compare.result import Compared, ComparedArm
from hearth.studies.engine.statistics import FEWEST_PAIRS
from hearth.studies.engine.trial import Trial
from hearth.workloads.shapes import CaseResult

#: Gives an interval of about 5 % to either side where runs scatter by 5 %.
_REPEAT = 10
_HEAD = ("job", "master", "seconds", "min-max", "ratio", "95 %", "answer")
_STREAM_HEAD = ("stream", "master", "events", "unsent", "batch", "p95", "delay", "kept-up")
_AGAINST = {
    "faster": "faster", "slower": "slower", "equal": "as fast", "undecided": "not told apart",
    "few": "not told apart by so few runs",
}  # fmt: skip


def series_blocks(result: BenchResult) -> list[Block]:
    """Return a row for each job and master, warnings, and a note on how to read them."""
    pairs = [(job.application, arm) for job in result.jobs for arm in job.arms]
    lacking = [
        f"{job} under {arm.name}: not available: {_without_times(arm)}"
        for job, arm in pairs
        if not arm.seconds
    ]
    rows = [_row(job, arm, result.cases_of(job, arm.name)) for job, arm in pairs]
    warnings = [f"{job.application}: {one.sentence}." for job in result.jobs
                for one in job.warnings]  # fmt: skip
    return [
        Heading(f"Series {result.series.suite}", section="series", link="Series", only="page"),
        *(figure for job in result.jobs for figure in _figure(job)),
        Texts(lacking, "absent", only="page"),
        Table(_HEAD, rows, "Jobs under each master", "seconds min-max ratio"),
        Table(_STREAM_HEAD, _stream_rows(result), "Streams", "events unsent batch p95 delay"),
        Texts(warnings, "warning"),
        Texts(_sentences(result), "verdict"),
        Texts([_note(result)]),
    ]


def _figure(job: Compared) -> list[Block]:
    """Return the seconds of each run of a job."""
    strip = seconds_strip([(arm.name, arm.seconds) for arm in job.finished])
    words = f"{job.application}: seconds of each run"
    caption = f"{words}, from zero; the larger mark is the median."
    return [] if strip is None else [Figure("strip", strip, words, caption)]


def _row(job: str, arm: ComparedArm, cases: Sequence[Trial]) -> list[str]:
    """Return a job under a master, as the head names its cells."""
    if not arm.seconds:
        return [job, arm.name, "-", "-", "-", "-", _without_times(arm)]
    results = _measured(cases)
    seconds = spread(arm) if len(arm.seconds) > 1 else "one run"
    ratio = f"{arm.ratio.value:.2f}" if arm.ratio else "-"
    return [job, _master(arm.name, results), f"{arm.median:.2f}", seconds, ratio,
            ends(arm.ratio) or "-", _answer(results, arm.failures or ())]  # fmt: skip


def _without_times(arm: ComparedArm) -> str:
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


def _stream_rows(result: BenchResult) -> list[list[str]]:
    """List streaming jobs: events of the shortest run, milliseconds of a batch and of its delay."""
    rows = []
    for job in result.jobs:
        for arm in job.arms:
            results = _measured(result.cases_of(job.application, arm.name))
            streams = [one["streaming"] for one in results if "streaming" in one]
            if streams:
                times = [
                    one["processing_ms"] for one in streams if "median" in one["processing_ms"]
                ]
                delays = [one["scheduling_delay_ms"] for one in streams]
                rows.append([
                    job.application,
                    arm.name,
                    f"{min(one['events_processed'] for one in streams):,}",
                    f"{sum(one['unsent'] for one in streams):,}",
                    _ms(statistics.median(t["median"] for t in times) if times else None),
                    _ms(max((t["p95"] for t in times), default=None)),
                    _ms(max((delay["max"] for delay in delays if "max" in delay), default=None)),
                    "yes" if all(one["kept_up"] for one in streams) else "no",
                ])  # fmt: skip
    return rows


def _ms(time: float | None) -> str:
    return "none" if time is None else f"{time:.0f} ms"


def _note(result: BenchResult) -> str:
    """Return how the table is read."""
    repeat, warmup = result.series.settings.repeat, result.series.settings.warmup
    warm = f"{warmup} warm-up run{'s' * (warmup != 1)} of each dropped" if warmup else "no warm-up"
    ended = {len(arm.seconds) for job in result.jobs for arm in job.arms if arm.seconds}
    runs = " to ".join(map(str, sorted({min(ended, default=0), max(ended, default=0)})))
    text = f"seconds: median of {runs} run{'s' * (runs != '1')} of each, {warm}"
    has_ratio = any(arm.ratio for job in result.jobs for arm in job.arms)
    if has_ratio:
        first = result.series.masters[0]
        text += f"; ratio to {first}: centre of the paired ratios, below 1 is faster"
    if repeat < FEWEST_PAIRS:
        text += f"; too few runs for an interval: use --repeat {_REPEAT}"
    elif has_ratio:
        text += (
            "; 95 %: of the paired repetitions' ratios, for all masters of a job together; of "
            "jobs without a difference, one in 20 shows one by chance"
        )
    return f"{text}."


def _sentences(result: BenchResult) -> list[str]:
    """Return in how many jobs each master is faster or slower than the first."""
    first, *others = result.series.masters
    lines = []
    for master in others:
        arms = [arm for job in result.jobs for arm in job.arms if arm.name == master and arm.ratio]
        kinds = [arm.against if arm.ratio and arm.ratio.interval else "few" for arm in arms]
        parts = [
            f"{words} in {counted(kinds.count(kind), 'job')}"
            for kind, words in _AGAINST.items()
            if kind in kinds
        ]
        if parts:
            lines.append(f"{master} against {first}: {', '.join(parts)}.")
    return lines
