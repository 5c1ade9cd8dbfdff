"""The table of `hearth lab bench`: each job under each master, and how reliable that is."""

from collections.abc import Sequence

from hearth.report.terminal.screen import Screen, table
from hearth.studies.bench.result import BenchResult, JobSummary, JobWarning, StreamSummary
from hearth.studies.bench.study import SeriesSettings
from hearth.studies.engine.statistics import FEWEST_PAIRS

#: Gives an interval of about 5 % to either side where runs scatter by 5 %.
REPEAT = 10
_RIGHT = "seconds min-max ratio"


HEAD = ("job", "master", "seconds", "min-max", "ratio", "95 %", "answer")
STREAM_HEAD = ("stream", "master", "events", "unsent", "batch", "p95", "delay", "kept-up")


def show_series(found: BenchResult, screen: Screen) -> list[str]:
    """Return a series as a person reads it."""
    return show_rows(found.rows, found.warnings, found.series.settings, screen)


def show_rows(
    rows: Sequence[JobSummary],
    warnings: Sequence[JobWarning],
    settings: SeriesSettings,
    screen: Screen,
) -> list[str]:
    """Return the table, a row for each job and master, warnings, and a note on how to read it."""
    lines = table(screen, HEAD, [cells(row) for row in rows], right=_RIGHT)
    streams = stream_cells(rows)
    if streams:
        lines += ["", *table(screen, STREAM_HEAD, streams, right="events unsent batch p95 delay")]
    texts = [f"warning: {warned.label}: {warned.sentence}." for warned in warnings]
    lines += ["", *(screen.paragraph(text, "  ", "    ") for text in texts)] if texts else []
    return [*lines, "", screen.paragraph(note(rows, settings), indent="  ")]


def cells(row: JobSummary) -> list[str]:
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


def stream_cells(rows: Sequence[JobSummary]) -> list[list[str]]:
    """List streaming jobs: events of the shortest run, milliseconds of a batch and of its delay."""
    return [[row.label, row.master, *_stream(row.stream)] for row in rows if row.stream]


def _stream(stream: StreamSummary) -> list[str]:
    times = [stream.processing_ms, stream.p95_ms, stream.delay_ms]
    shown = ["none" if time is None else f"{time:.0f} ms" for time in times]
    events = [f"{stream.events:,}", f"{stream.unsent:,}"]
    return [*events, *shown, "yes" if stream.kept_up else "no"]


def note(rows: Sequence[JobSummary], settings: SeriesSettings) -> str:
    """Return how the table is read."""
    repeat, warmup = settings.repeat, settings.warmup
    warm = f"{warmup} warm-up run{'s' * (warmup != 1)} of each dropped" if warmup else "no warm-up"
    text = f"seconds: median of {repeat} run{'s' * (repeat != 1)} of each, {warm}"
    if any(row.ratio for row in rows):
        text += f"; ratio to {rows[0].master}: centre of the paired ratios, below 1 is faster"
    if repeat < FEWEST_PAIRS:
        text += f"; too few runs to show the spread: use --repeat {REPEAT}"
    elif any(row.ratio for row in rows):
        text += (
            "; 95 %: of the paired repetitions' ratios, for all masters of a job together; of "
            "jobs without a difference, one in 20 shows one by chance"
        )
    return f"{text}."
