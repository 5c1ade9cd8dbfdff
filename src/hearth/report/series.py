"""A series of `hearth lab bench`: each job under each master, and how reliable that is."""

from collections.abc import Sequence

from hearth.base.sizes import counted
from hearth.report.blocks import Block, Figure, Heading, Table, Texts
from hearth.report.figures import seconds_strip
from hearth.studies.bench.result import BenchResult, JobSummary, StreamSummary
from hearth.studies.bench.study import SeriesSettings
from hearth.studies.engine.statistics import FEWEST_PAIRS

#: Gives an interval of about 5 % to either side where runs scatter by 5 %.
_REPEAT = 10
_HEAD = ("job", "master", "seconds", "min-max", "ratio", "95 %", "answer")
_STREAM_HEAD = ("stream", "master", "events", "unsent", "batch", "p95", "delay", "kept-up")


def series_blocks(result: BenchResult) -> list[Block]:
    """Return a row for each job and master, warnings, and a note on how to read them."""
    rows = result.rows
    labels = dict.fromkeys(row.label for row in rows)
    lacking = [
        f"{row.label} under {row.master}: not available: {row.reason or 'not run'}"
        for row in rows
        if row.seconds is None
    ]
    return [
        Heading(f"Series {result.series.suite}", section="series", link="Series", only="page"),
        *(figure for label in labels for figure in _figure(result, label)),
        Texts(lacking, "absent", only="page"),
        Table(_HEAD, [_cells(row) for row in rows], "Jobs under each master",
              "seconds min-max ratio"),
        Table(_STREAM_HEAD, [[row.label, row.master, *_stream(row.stream)]
                             for row in rows if row.stream],
              "Streams", "events unsent batch p95 delay"),
        Texts([f"{one.label}: {one.sentence}." for one in result.warnings], "warning"),
        Texts(_sentences(result), "verdict"),
        Texts([_note(rows, result.series.settings)]),
    ]  # fmt: skip


def _figure(result: BenchResult, label: str) -> list[Block]:
    """Return the seconds of each run of a job."""
    seconds: dict[str, list[float]] = {}
    for trial in (case.trial for case in result.cases if case.label == label):
        if trial.counted_s is not None:
            seconds.setdefault(trial.arm, []).append(trial.counted_s)
    masters = [row.master for row in result.rows if row.label == label]
    strip = seconds_strip([(name, seconds[name]) for name in masters if name in seconds])
    words = f"{label}: seconds of each run"
    caption = f"{words}, from zero; the larger mark is the median."
    return [] if strip is None else [Figure("strip", strip, words, caption)]


def _cells(row: JobSummary) -> list[str]:
    """Return a job under a master, as HEAD names its cells."""
    if row.seconds is None:
        why = "not run" if row.reason is None else f"failed: {row.reason}"
        return [row.label, row.master, "-", "-", "-", "-", why]
    seconds = row.seconds
    spread = f"{seconds.least:.2f}-{seconds.most:.2f}" if seconds.runs > 1 else "one run"
    ratio, interval = "-", "-"
    if row.ratio is not None:
        ratio = f"{row.ratio.value:.2f}"
        if row.ratio.interval is not None:
            interval = "[{:.2f}, {:.2f}]".format(*row.ratio.interval)
    return [row.label, _master(row), f"{seconds.median:.2f}", spread, ratio, interval,
            _answer(row)]  # fmt: skip


def _master(row: JobSummary) -> str:
    """Return the requested master, with the one that the plan chose: `local-numa (local[2])`."""
    became = ", ".join(row.ran_as or [])
    planned = row.master.startswith("local-numa") and became != row.master
    return f"{row.master} ({became})" if planned else row.master


def _answer(row: JobSummary) -> str:
    text = ""
    if row.answer is not None:
        status = row.answer["status"]
        text = status if status == "checked" else f"{status}: {row.answer['detail']}"
    return f"{text}; {row.failed} failed: {row.reason}" if row.failed else text


def _stream(stream: StreamSummary) -> list[str]:
    times = [stream.processing_ms, stream.p95_ms, stream.delay_ms]
    shown = ["none" if time is None else f"{time:.0f} ms" for time in times]
    events = [f"{stream.events:,}", f"{stream.unsent:,}"]
    return [*events, *shown, "yes" if stream.kept_up else "no"]


def _note(rows: Sequence[JobSummary], settings: SeriesSettings) -> str:
    """Return how the table is read."""
    repeat, warmup = settings.repeat, settings.warmup
    warm = f"{warmup} warm-up run{'s' * (warmup != 1)} of each dropped" if warmup else "no warm-up"
    text = f"seconds: median of {repeat} run{'s' * (repeat != 1)} of each, {warm}"
    if any(row.ratio for row in rows):
        text += f"; ratio to {rows[0].master}: centre of the paired ratios, below 1 is faster"
    if repeat < FEWEST_PAIRS:
        text += f"; too few runs to show the spread: use --repeat {_REPEAT}"
    elif any(row.ratio for row in rows):
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
        rows = [row for row in result.rows if row.master == master]
        kinds = [_kind(row) for row in rows]
        known = (("faster", "faster"), ("slower", "slower"), ("open", "not told apart"))
        parts = [f"{words} in {counted(kinds.count(kind), 'job')}" for kind, words in known
                 if kind in kinds]  # fmt: skip
        if parts:
            lines.append(f"{master} against {first}: {', '.join(parts)}.")
    return lines


def _kind(row: JobSummary) -> str | None:
    if row.ratio is None:
        return None
    low, high = row.ratio.interval or (0.0, float("inf"))
    return "faster" if high < 1 else "slower" if low > 1 else "open"
